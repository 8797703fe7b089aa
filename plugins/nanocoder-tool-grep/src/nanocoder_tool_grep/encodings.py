"""Files that ripgrep cannot read as they are: they are searched as copies in UTF-8."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

from attrs import define, field
from nanocoder import ToolContext, WorkspaceError
from nanocoder_kit_files.glob.left_out import LeftOut
from nanocoder_kit_files.text import read_text_file

from nanocoder_tool_grep.selection import Selection
from nanocoder_tool_grep.texts import kind_of

MAX_BYTES = 50_000_000


@define
class Copies:
    """The *paths* of copies by the paths of their files; *root* is their directory.

    *too_large* counts the files that are too large for a copy.
    """

    paths: dict[str, Path] = field(factory=dict)
    root: Path | None = None
    too_large: int = 0

    def add_odd(
        self, ctx: ToolContext, selection: Selection, profile: Mapping[str, bool], *, is_sure: bool
    ) -> None:
        """Copy the files with another encoding by their *profile*, and record binary ones.

        Unless *is_sure*, the profile may also name plain files.
        """
        for path in sorted(selection.paths()):
            if profile.get(path, True) and path not in self.paths:
                ctx.cancelled.check()
                if is_sure or kind_of(ctx, path) != "plain":
                    self.add(ctx, path, selection.left_out)

    def add(self, ctx: ToolContext, path: str, left_out: LeftOut) -> None:
        """Copy one file, unless it is binary, too large or missing."""
        try:
            if kind_of(ctx, path) == "binary":
                left_out.add(left_out.binary, ".", [path])
                return
            text = read_text_file(ctx.workspace, path, max_bytes=MAX_BYTES, note=False).text
        except WorkspaceError as error:
            if error.error_class == "binary_file":
                left_out.add(left_out.binary, ".", [path])
            self.too_large += error.error_class == "too_large"
            return
        if self.root is None:
            self.root = Path(mkdtemp(dir=ctx.tmp_dir))
        with NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=self.root, delete=False
        ) as copy:
            copy.write(text)
        self.paths[path] = Path(copy.name)

    @property
    def names(self) -> Mapping[str, str]:
        """The paths of the files by the names of their copies."""
        return {copy.name: path for path, copy in self.paths.items()}
