"""Plan a write: the bytes for the disk, and the file that they replace."""

from hashlib import sha256

from attrs import evolve, frozen
from nanocoder import ToolError, Workspace, WorkspaceError
from nanocoder_kit_files.diff import Diff, unified
from nanocoder_kit_files.text import TextFile, encode, read_text_file


@frozen
class Plan:
    """A planned write: *data* replaces *old*, which is None without an old text."""

    path: str
    content: str
    data: bytes
    old: TextFile | None
    encoding: str

    @property
    def lines(self) -> int:
        """The number of lines that the file will have."""
        return self.content.count("\n") + (not self.content.endswith("\n") and self.content != "")

    @property
    def changes_encoding(self) -> bool:
        """True if the old encoding cannot encode the new content."""
        return self.old is not None and self.encoding != self.old.encoding

    def diff(self) -> Diff:
        r"""Return the changes as a diff, in which "\r\n" and "\n" are equal."""
        if self.old is None:
            return unified("", self.content, self.path)
        return unified(self.old.text, self.content.replace("\r\n", "\n"), self.path, stays=True)

    def changes_nothing(self) -> bool:
        """Return True if the file already has these bytes."""
        if self.old is None or self.old.size != len(self.data):
            return False

        return sha256(self.data).hexdigest() == self.old.digest


def plan_write(workspace: Workspace, path: str, content: str) -> Plan:
    """Prepare a write; raises ToolError for content that is no text."""
    _check(content)
    where = workspace.relative(path)
    try:
        # Without note=False this read would be recorded as one by the model.
        old = read_text_file(workspace, path, note=False)
    except WorkspaceError as error:
        if error.error_class not in {"file_not_found", "binary_file"}:
            raise
        return Plan(where, content, encode(content), None, "utf-8")
    like = _with_newlines_of(content, old)
    try:
        return Plan(where, content, encode(content, like), old, old.encoding)
    except WorkspaceError:
        # The old encoding lacks a character; a replaced file may change its encoding.
        return Plan(where, content, content.encode(), old, "utf-8")


def _with_newlines_of(content: str, old: TextFile) -> TextFile:
    """Return *old* with its line ends, or raw ones if the content has its own."""
    if "\r" not in content:
        return old
    return evolve(old, newline="raw")


def _check(content: str) -> None:
    position = content.find("\0")
    if position >= 0:
        raise ToolError(
            f"content has a NUL at character {position + 1}; write_file writes text only",
            error_class="invalid_arguments",
        )
    try:
        content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"content has half a character, {content[error.start]!a}, in line"
            f" {content.count(chr(10), 0, error.start) + 1}; send the character itself",
            error_class="invalid_arguments",
        ) from None
