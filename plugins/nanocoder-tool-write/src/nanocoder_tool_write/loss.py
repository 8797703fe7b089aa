"""A guard against models that omit functions when they rewrite a whole file."""

import re

from nanocoder import ToolContext, ToolError, Workspace, counted
from nanocoder_kit_files.text import OBJECTIONS, TextFile

SHOWN_NAMES = 20
MAX_UNREAD_BYTES = 200
"""Limit of a single line that may be replaced unread, such as a version number."""
_CODE = tuple(
    f".{name}"
    for name in (
        *("c", "cc", "cpp", "cs", "cxx", "dart", "go", "h", "hpp", "java", "js", "jsx", "kt"),
        *("lua", "mjs", "php", "py", "pyi", "rb", "rs", "scala", "swift", "ts", "tsx"),
    )
)
_DEFINITION = (
    r"^[ \t]*(?:(?:export|default|async|pub(?:\([^)\n]*\))?|public|private|protected|internal"
    r"|static|abstract|final|open|unsafe|const|override|sealed|local)[ \t]+)*"
    r"(def|class|function\*?|func|fun|fn|struct|enum|trait|interface|object|module)[ \t]+"
    r"(?:\([^)\n]*\)[ \t]*)?([A-Za-z_$][\w$.]*)"
)


def refuse_unread(workspace: Workspace, path: str, old: TextFile) -> None:
    """Raise ToolError (not_read) for a file that was not read whole, but a short single line."""
    is_short = old.lines <= 1 and old.size <= MAX_UNREAD_BYTES
    if is_short or not old.text.strip() or workspace.has_read(path):
        return
    raise ToolError(
        f"not written: {path!r} exists ({counted(old.lines, 'line')}, {counted(old.size, 'byte')})"
        " and you have not read all of it. Read it first, or change a part with edit_file: that is"
        " the only way if a line is too long to be read whole",
        error_class="not_read",
        data={"path": path, "lines": old.lines, "size": old.size},
    )


def refuse_loss(ctx: ToolContext, path: str, old: str, new: str) -> None:
    """Refuse a rewrite after which definitions are missing, once.

    A small model sends the same call again without a thought: it has to read the file once more.
    Raises: ToolError (lost_definitions).
    """
    lost = find_lost_definitions(path, old, new)
    is_small = ctx.session is not None and ctx.session.profile == "small"
    if not lost or not ctx.resource(OBJECTIONS).is_new(path, old if is_small else new):
        return
    if is_small:
        ctx.workspace.note_read(path, "")
    names = ", ".join(lost[:SHOWN_NAMES])
    more = f" and {len(lost) - SHOWN_NAMES} more" if len(lost) > SHOWN_NAMES else ""
    means = "read the file again before you write it" if is_small else "send the same again"
    raise ToolError(
        f"not written: {path!r} would lose {names}{more}. Change a part with edit_file, or send the"
        f" whole file with them. If they are meant to go, {means}.",
        error_class="lost_definitions",
        data={"lost": lost},
    )


def find_lost_definitions(path: str, old: str, new: str) -> list[str]:
    """Return the definitions of *old* that *new* lacks, in the order of *old*, as "def name"."""
    if not path.lower().endswith(_CODE):
        return []
    pattern = re.compile(_DEFINITION, re.MULTILINE)
    names = {match[2] for match in pattern.finditer(new)}
    lost = (f"{match[1]} {match[2]}" for match in pattern.finditer(old) if match[2] not in names)
    return list(dict.fromkeys(lost))
