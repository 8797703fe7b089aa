"""A guard: "... rest of the code ..." is not code."""

from nanocoder import ToolError

_COMMENT = r"(?:#|//|/\*|<!--|--|;|%|\{/\*)"
_PLACEHOLDER = (
    rf"^[ \t]*{_COMMENT}[ \t]*(?:\.{{3}}|\u2026)[ \t]*\(?(?:the )?"
    r"(?:rest|existing|remaining|other|previous|unchanged|same|keep|code)\b"
    rf"|^[ \t]*{_COMMENT}[ \t]*(?:the )?(?:rest of|remaining|existing) .{{0,60}}"
    r"(?:\.{3}|\u2026|unchanged|remains?\b|stays?\b|(?:the )?same\b|as before|goes here|here\b)"
    r"|^[ \t]*(?:\.{3}|\u2026)[ \t]*(?:existing|rest of|remaining) "
)


def refuse_placeholder(new: str, text: str) -> None:
    """Refuse *new* when a line of it stands for code that is left out, unless *text* has that line.

    Raises: ToolError (placeholder).
    """
    if "..." not in new and "\u2026" not in new and "rest of" not in new and "ing " not in new:
        return
    import re  # only suspicious text needs it

    for found in re.finditer(_PLACEHOLDER, new, re.MULTILINE | re.IGNORECASE):
        line = new[found.start() :].split("\n", 1)[0].strip()
        if line not in text:
            raise ToolError(
                f"not edited: {line!r} in new_string stands for code that is left out; write out"
                " everything that replaces old_string",
                error_class="placeholder",
                data={"line": line},
            )
