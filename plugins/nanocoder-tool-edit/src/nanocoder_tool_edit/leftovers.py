"""Where an old name still stands after an edit that took it away."""

SHOWN_PLACES = 10
SHORTEST = 3


def leftovers(old: str, new: str, after: str) -> list[tuple[str, list[int]]]:
    """Return names that *old* has, *new* has not, and the text *after* the edit still has.

    Only where as many names came as went, as in a renaming; each with the lines that hold it.
    """
    import re  # an edit that names nothing does without

    def names(text: str) -> list[str]:
        return list(dict.fromkeys(re.findall(rf"[^\W\d]\w{{{SHORTEST - 1},}}", text)))

    gone = [name for name in names(old) if name not in names(new)]
    come = [name for name in names(new) if name not in names(old)]
    if len(gone) != 1 or len(come) != 1:
        return []
    return [(name, lines) for name in gone if (lines := _lines(re.escape(name), after))]


def _lines(pattern: str, text: str) -> list[int]:
    import re

    found: list[int] = []
    position, line = 0, 1
    for match in re.finditer(rf"\b{pattern}\b", text):
        line += text.count("\n", position, match.start())
        position = match.start()
        if line not in found[-1:]:
            found.append(line)
        if len(found) > SHOWN_PLACES:
            break
    return found
