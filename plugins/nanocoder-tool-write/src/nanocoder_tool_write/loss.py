"""A guard: models that rewrite a whole file leave out functions that nobody told them to remove."""

from nanocoder import ToolError

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


class Warned:
    """The rewrites that one session was warned of."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def is_new(self, path: str, content: str) -> bool:
        """Remember this rewrite; tell whether it was unknown."""
        from hashlib import sha256  # 5 ms, and most sessions rewrite nothing

        key = f"{path}\0{sha256(content.encode()).hexdigest()}"
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def refuse_loss(warned: Warned, path: str, old: str, new: str) -> None:
    """Refuse, the first time, a rewrite after which definitions are missing.

    Raises: ToolError (lost_definitions).
    """
    lost = lost_definitions(path, old, new)
    if not lost or not warned.is_new(path, new):
        return
    names = ", ".join(lost[:SHOWN_NAMES])
    more = f" and {len(lost) - SHOWN_NAMES} more" if len(lost) > SHOWN_NAMES else ""
    raise ToolError(
        f"not written: {path!r} would lose {names}{more}. Send the whole file with them, or change"
        " a part with edit_file. If they are meant to go, send the same call again.",
        error_class="lost_definitions",
        data={"lost": lost},
    )


def lost_definitions(path: str, old: str, new: str) -> list[str]:
    """Return what code in *old* defines and *new* does not, in the order of *old*: "def name"."""
    if not path.lower().endswith(_CODE):
        return []
    import re  # only a rewrite of code needs it

    pattern = re.compile(_DEFINITION, re.MULTILINE)
    kept = {found[2] for found in pattern.finditer(new)}
    lost = (f"{found[1]} {found[2]}" for found in pattern.finditer(old) if found[2] not in kept)
    return list(dict.fromkeys(lost))
