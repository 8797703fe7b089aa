"""Which composed tools are built soundly: no circles, no towers."""

from collections.abc import Mapping, Sequence

from nanocoder.tools.tool import MAX_DEPTH

Steps = Mapping[str, Sequence[str]]


def unsound(steps: Steps) -> dict[str, str]:
    """Return what is wrong with each tool that can lead back to itself or nests too deep.

    *steps* holds by tool the sub-tools that it declares; "*" is watched when it runs.
    """
    problems = {}
    for name in steps:
        circle = _way_back(name, steps)
        if circle:
            problems[name] = f"tool {name!r} leads back to itself: {' -> '.join(circle)}"
    straight = {name: own for name, own in steps.items() if name not in problems}
    for name in straight:
        if _depth(name, straight) > MAX_DEPTH:
            problems[name] = (
                f"tool {name!r} nests deeper than {MAX_DEPTH} levels of composed_of;"
                " let it call the innermost tools directly"
            )
    return problems


def _way_back(start: str, steps: Steps) -> list[str]:
    """Return the names from *start* to *start*, or nothing; each tool is looked at once."""
    visited: set[str] = set()
    ways = [[start]]
    while ways:
        way = ways.pop()
        for name in steps.get(way[-1], ()):
            if name == start:
                return [*way, name]
            if name not in visited:
                visited.add(name)
                ways.append([*way, name])
    return []


def _depth(name: str, steps: Steps) -> int:
    """Return how many levels of steps lie below a tool, one too many at the most."""
    level, depth = {name}, 0
    while depth <= MAX_DEPTH:
        level = {step for name in level for step in steps.get(name, ()) if step in steps}
        if not level:
            return depth
        depth += 1
    return depth
