"""Find "... rest of the code ...": a placeholder line for omitted code."""

import re
from functools import cache

_COMMENT = r"(?:#|//|/\*|<!--|--|;|%|\{/\*)"
_CLOSED = r"[ \t]*(?:\*/\}?|-->)?[ \t]*$"
_DOTS = r"(?:\.{3,}|\u2026)"
_END = r"[)\]>][ \t]*$"
_WORDS = (
    r"(?:rest|existing|remaining|other|previous|unchanged|same|keep|code|more|omitted|unmodified)"
)
_OMITTED = r"(?:snip|snipped|omitted|elided|unchanged|unmodified|same as before)\b"
_OTHERS = r"(?:rest|existing|remaining|previous|other|more|same)\b"
_CODE = (
    r"(?:code|file|styles|jsx|html|markup|imports|methods|functions|implementation|logic|contents?"
    r"|component|class)\b"
)
_BETWEEN = (
    r"(?:the|of|is|are|as|before|for|brevity|here|everything|else|remains|stays|keep|lines?"
    r"|columns|fields|tests|props|[0-9]+)\b"
)
# A comment, or dots in brackets, of these words alone: others describe code, or name a section.
# The limit of 120 characters keeps the time linear.
_ONLY = (
    rf"^(?=[^\n]{{1,120}}$)[ \t]*(?:(?:{_DOTS}[ \t]*)?{_COMMENT}[ \t]*-*[ \t]*[(\[<]?"
    rf"|[(\[<](?=[ \t]*{_DOTS}))[ \t]*"
    rf"(?=[^\n]*\b{_OMITTED}|(?=[^\n]*{_DOTS})[^\n]*\b{_OTHERS}|[^\n]*\b{_OTHERS} \w[^\n]*[)\]]"
    rf"|(?:rest of|existing|remaining|previous) (?:the )?{_CODE}[^\n.]*$)"
    rf"(?:(?:{_OMITTED}|{_OTHERS}|{_CODE}|{_BETWEEN}|{_DOTS})[ \t,.\-]*+)++[)\]>]?[. ]*{_CLOSED}"
)
_PLACEHOLDER = (
    rf"^[ \t]*{_COMMENT}[ \t]*{_DOTS}[ \t]*[(\[]?(?:the )?{_WORDS}\b"
    rf"|^[ \t]*{_COMMENT}[ \t]*{_DOTS}{_CLOSED}"
    rf"|^[ \t]*{_COMMENT}[ \t]*[(\[]?(?:the )?(?:rest of|remaining|existing) .{{0,60}}"
    rf"(?:{_DOTS}|unchanged|remains?\b|stays?\b|(?:the )?same\b|as before|goes here|here\b)"
    rf"|^[ \t]*{_DOTS}[ \t]*[(\[]?(?:existing|rest of|remaining|unchanged) "
    rf"|^[ \t]*[(\[<](?:the )?(?:rest of|remaining|existing|other) [^()\n]{{1,60}}{_DOTS}{_END}"
    rf"|^[ \t]*[(\[<](?:the )?rest of [^()\n]{{1,60}}{_END}|{_ONLY}"
)
_SIGNS = (
    *("...", "\u2026", "rest of", "ing ", "unchanged", "unmodified", "same as", "omitted"),
    *("previous ", "snip", "elided"),
)


def placeholder_in(new: str, old: str) -> str:
    """Return the first placeholder line for omitted code in *new*, or "".

    Lines that are already in *old* are ignored.
    """
    lowered = new.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return ""
    old_lines = {line.strip() for line in old.split("\n")}
    for match in _pattern().finditer(new):
        line = new[match.start() :].split("\n", 1)[0].strip()
        if line not in old_lines:
            return line
    return ""


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_PLACEHOLDER, re.MULTILINE | re.IGNORECASE)
