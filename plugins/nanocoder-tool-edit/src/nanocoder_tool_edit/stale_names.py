"""Names that an edit replaced, and that still occur elsewhere in the file."""

import re
from collections.abc import Callable

SHOWN_PLACES = 10
SHORTEST = 3


def find_stale_names(old: str, new: str, after: Callable[[], str]) -> list[tuple[str, list[int]]]:
    """Return names of *old* that *new* lacks and the text *after* the edit still has.

    Only an edit that swaps one name for one other is judged; the name comes with its lines.
    """

    def names(text: str) -> list[str]:
        return list(dict.fromkeys(re.findall(rf"[^\W\d]\w{{{SHORTEST - 1},}}", text)))

    removed = [name for name in names(old) if name not in names(new)]
    added = [name for name in names(new) if name not in names(old)]
    if len(removed) != 1 or len(added) != 1:
        return []
    return [(name, lines) for name in removed if (lines := _lines(name, after()))]


def holds_name(text: str, name: str) -> bool:
    """Return True if *name* is in the text as a whole word."""
    return bool(_lines(name, text))


def _lines(name: str, text: str) -> list[int]:
    """Return the first lines that contain *name* as a whole word."""
    numbers: list[int] = []
    counted, line = 0, 1
    at = text.find(name)
    while at >= 0 and len(numbers) <= SHOWN_PLACES:
        end = at + len(name)
        if not (_is_letter(text[at - 1 : at]) or _is_letter(text[end : end + 1])):
            line += text.count("\n", counted, at)
            counted = at
            if line not in numbers[-1:]:
                numbers.append(line)
        at = text.find(name, end)
    return numbers


def _is_letter(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
