"""A guard: models that rewrite a whole file leave out functions that they should keep."""

from nanocoder import ToolError, Workspace

SHOWN_NAMES = 20
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


class WarnedFiles:
    """The files that one session was warned not to rewrite, by path and content."""

    def __init__(self) -> None:
        self._files: set[tuple[str, int]] = set()

    def is_new(self, path: str, old: str) -> bool:
        """Remember a file as it is; tell whether it was unknown."""
        key = (path, hash(old))
        is_new = key not in self._files
        self._files.add(key)
        return is_new


def refuse_placeholder(new: str, old: str) -> None:
    """Raise ToolError (placeholder) for a line that stands for code which is left out."""
    from nanocoder_kit_diff.placeholder import placeholder_in

    if line := placeholder_in(new, old):
        raise ToolError(
            f"not written: {line!r} stands for code that is left out. Send the whole file, or"
            " change a part with edit_file",
            error_class="placeholder",
            data={"line": line},
        )


def refuse_unread(workspace: Workspace, path: str, old: str) -> None:
    """Raise ToolError (not_read) for a file that was never read, unless it is a single line."""
    lines = old.count("\n") + (not old.endswith("\n"))
    if lines <= 1 or not old.strip() or workspace.has_read(path):
        return
    raise ToolError(
        f"not written: {path!r} exists ({lines:,} lines) and you have not read it. Read it first,"
        " or change a part with edit_file",
        error_class="not_read",
        data={"path": path, "lines": lines},
    )


def refuse_loss(warned: WarnedFiles, workspace: Workspace, path: str, old: str, new: str) -> None:
    """Refuse a rewrite after which definitions are missing, until the file is read once more.

    Sending the same call again does not help: a model without randomness does that anyway.
    Raises: ToolError (lost_definitions).
    """
    lost = find_lost_definitions(path, old, new)
    if not lost or (not warned.is_new(path, old) and workspace.has_read(path)):
        return
    workspace.note_read(path, "")
    names = ", ".join(lost[:SHOWN_NAMES])
    more = f" and {len(lost) - SHOWN_NAMES} more" if len(lost) > SHOWN_NAMES else ""
    raise ToolError(
        f"not written: {path!r} would lose {names}{more}. Change a part with edit_file, or send the"
        " whole file with them. If they are meant to go, read the file again before you write it.",
        error_class="lost_definitions",
        data={"lost": lost},
    )


def find_lost_definitions(path: str, old: str, new: str) -> list[str]:
    """Return the definitions of *old* that *new* lacks, in the order of *old*, as "def name"."""
    if not path.lower().endswith(_CODE):
        return []
    import re  # only a rewrite of code needs it

    pattern = re.compile(_DEFINITION, re.MULTILINE)
    names = {match[2] for match in pattern.finditer(new)}
    lost = (f"{match[1]} {match[2]}" for match in pattern.finditer(old) if match[2] not in names)
    return list(dict.fromkeys(lost))
