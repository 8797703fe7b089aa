"""Files as text, and back to the same bytes: encoding, byte order mark, line ends."""

import codecs
import hashlib
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from attrs import frozen
from nanocoder import WorkspaceError

from nanocoder_kit_files.text.encodings import legacy_encodings

if TYPE_CHECKING:
    from nanocoder import Workspace

Newline = Literal["\n", "\r\n", "\r", "mixed", "raw"]

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE_END = re.compile("\r?\n")


@frozen(slots=False)
class TextFile:
    r"""A text file as it was read.

    *text* has "\n" at its line ends; *newline* is the file's own. "mixed" is "\n" and "\r\n" in one
    file (*endings* then has one letter per line, "n" or "r"), "raw" is a file whose line ends are
    unchanged in *text*, because they would not round-trip. A lone "\r" ends a line only in files
    without "\n". *encoding* is utf-8, or utf-16-le and the like (with the byte order mark *bom*),
    or for other bytes a guess, such as gbk or cp1252, which round-trips. *data* are the bytes,
    *mode* the permission bits.
    """

    path: str
    text: str
    encoding: str
    bom: bytes
    newline: Newline
    final_newline: bool
    data: bytes
    mode: int
    endings: str = ""

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data)

    @property
    def is_guessed(self) -> bool:
        """True if the encoding was guessed: neither UTF-8 nor declared by a byte order mark."""
        return not self.bom and self.encoding != "utf-8"

    @cached_property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n") + (not self.final_newline and self.text != "")

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the bytes in hexadecimal; taken when asked for, 0.6 ms for each MB."""
        return hashlib.sha256(self.data).hexdigest()


def read_text_file(
    workspace: "Workspace", path: str, *, max_bytes: int | None = None, note: bool = True
) -> TextFile:
    """Read a text file and record its digest, so that a write detects a change since.

    Without *note* nothing is recorded: for a reader that does not show the content.

    Raises: binary_file, too_large, and the errors of `Workspace.open`.
    """
    content = workspace.read(path, max_bytes=max_bytes)
    file = decode(content.path, content.data, stat.S_IMODE(content.status.st_mode))
    if note:
        workspace.note_read(content.path, file.digest)
    return file


def decode(path: str, data: bytes, mode: int = 0o644) -> TextFile:
    """Read *data* as text.

    Raises: WorkspaceError (binary_file).
    """
    for bom, encoding in _encodings(data):
        with suppress(UnicodeDecodeError):
            text, newline, endings = _normalised(data[len(bom) :].decode(encoding))
            ends = text.endswith("\n")
            return TextFile(path, text, encoding, bom, newline, ends, data, mode, endings)
    raise WorkspaceError(f"'{path}' is not a text file", error_class="binary_file")


def encode(text: str, like: TextFile | None = None) -> bytes:
    """Return the bytes for *text*, with the encoding, mark and line ends of *like*.

    Raises: WorkspaceError (invalid_arguments) for characters that the encoding does not have.
    """
    encoding, bom = (like.encoding, like.bom) if like else ("utf-8", b"")
    if like:
        text = _restored(text, like)
    try:
        return bom + text.encode(encoding)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise WorkspaceError(
            f"the file is {encoding} and cannot hold {letter!a}; leave that character out,"
            " or convert the file to UTF-8 first",
            error_class="invalid_arguments",
        ) from None


def _encodings(data: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield the marks and encodings that *data* may have, the likeliest first."""
    marked = [(bom, encoding) for bom, encoding in _MARKS if data.startswith(bom)]
    if marked or b"\0" in data:
        yield from marked[:1]
        return
    yield b"", "utf-8"
    if not is_binary(data):
        for encoding in legacy_encodings(data):
            yield b"", encoding


def _normalised(raw: str) -> tuple[str, Newline, str]:
    if "\r" not in raw:
        return raw, "\n", ""
    both, line_feeds = raw.count("\r\n"), raw.count("\n")
    if not line_feeds:
        return raw.replace("\r", "\n"), "\r", ""
    if not both:
        return raw, "\n", ""
    if "\r\r\n" in raw:
        return raw, "raw", ""
    text = raw.replace("\r\n", "\n")
    if both == line_feeds:
        return text, "\r\n", ""
    ends = _LINE_END.findall(raw)
    return text, "mixed", "".join("n" if end == "\n" else "r" for end in ends)


def _restored(text: str, like: TextFile) -> str:
    if like.newline == "raw":
        return text
    text = text.replace("\r\n", "\n")
    if like.newline in {"\r", "\r\n"}:
        return text.replace("\n", like.newline)
    return _mixed(text, like) if like.newline == "mixed" else text


def _mixed(text: str, like: TextFile) -> str:
    """Give each line that was there before its own end, and new ones the end that most have."""
    usual = max("nr", key=like.endings.count)
    before, after = like.text.split("\n"), text.split("\n")
    ends = [usual] * (len(after) - 1)
    for old, new, count in _same(before, after):
        for offset in range(count):
            if new + offset < len(ends) and old + offset < len(like.endings):
                ends[new + offset] = like.endings[old + offset]
    pieces = [
        line + ("\r\n" if end == "r" else "\n") for line, end in zip(after, ends, strict=False)
    ]
    return "".join(pieces) + after[-1]


def _same(before: list[str], after: list[str]) -> list[tuple[int, int, int]]:
    """Return runs of equal lines: where in *before*, where in *after*, how many."""
    from difflib import SequenceMatcher  # only files with mixed line ends need it

    shortest = min(len(before), len(after))
    head = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - head
    tail = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    middle = SequenceMatcher(None, old, new, autojunk=True).get_matching_blocks() if new else []
    return [
        (0, 0, head),
        *((head + block.a, head + block.b, block.size) for block in middle),
        (len(before) - tail, len(after) - tail, tail),
    ]


SAMPLE_BYTES = 8_192
MAX_CONTROL_SHARE = 0.1
_TEXT_BYTES = bytes({7, 8, 9, 10, 12, 13, 27} | set(range(0x20, 0x100)) - {0x7F})


def is_binary(data: bytes) -> bool:
    """Return True if *data* is no text: a NUL, or many controls, at its beginning."""
    sample = data[:SAMPLE_BYTES]
    if b"\0" in sample:
        return not sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    return len(sample.translate(None, _TEXT_BYTES)) > MAX_CONTROL_SHARE * len(sample)
