"""Globs of paths, matched in a time that no pattern and no path makes long.

Backtracking tries every way to share a path among the wildcards: with a dozen of them it does not
end, and a project's file may bring rules.
"""

import re
from collections import defaultdict
from functools import cached_property
from typing import Final

FEW: Final = 2
"""So many wildcards an expression shares a path among in time."""
LONG: Final = 4_096
"""From this length on not even those: the time grows with its square."""
_PARTS = r"\*\*/|/\*\*|\*\*|\*|\?|[^*?]"
_AS_EXPRESSION: Final = {
    "**/": "(?:.*/)?",
    "/**": "(?:/.*)?",
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
}


class Glob:
    """One glob: `*` and `?` stay within a name, `**` goes across folders."""

    def __init__(self, pattern: str) -> None:
        self._parts = re.findall(_PARTS, pattern)

    def fits(self, path: str) -> bool:
        """Tell whether the glob is for the whole of *path*, which may hold line breaks."""
        if self._is_simple and len(path) < LONG:
            return self._expression.fullmatch(path) is not None
        return self._states.end_in(path)

    @cached_property
    def _is_simple(self) -> bool:
        return sum("*" in part for part in self._parts) <= FEW

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        body = (_AS_EXPRESSION.get(part) or re.escape(part) for part in self._parts)
        return re.compile("".join(body), re.DOTALL)

    @cached_property
    def _states(self) -> "_States":
        states = _States()
        for part in self._parts:
            states.add(part)
        return states


class _States:
    """The places in a glob as bits of one number, and which of them a letter leads to."""

    def __init__(self) -> None:
        self._size = 0
        self._letters: defaultdict[str, int] = defaultdict(int)  # these lead on by this letter
        self._name = self._loop_in_name = self._loop = 0  # lead on, or back, by letters of a kind
        self._free = self._skip = 0  # lead on by one, or by two, without a letter

    def add(self, part: str) -> None:
        here = 1 << self._size
        if part in ("**/", "/**"):
            self._skip |= here
            self._loop |= here << 1
            if part == "**/":
                self._free |= here
                self._letters["/"] |= here << 1
            else:
                self._letters["/"] |= here
                self._free |= here << 1
            self._size += 1
        elif part == "**":
            self._free |= here
            self._loop |= here
        elif part == "*":
            self._free |= here
            self._loop_in_name |= here
        elif part == "?":
            self._name |= here
        else:
            self._letters[part] |= here
        self._size += 1

    def end_in(self, path: str) -> bool:
        now = self._closed(1)
        for letter in path:
            following = now & self._loop | (now & self._letters.get(letter, 0)) << 1
            if letter != "/":
                following |= now & self._loop_in_name | (now & self._name) << 1
            now = self._closed(following)
            if not now:
                return False
        return bool(now >> self._size & 1)

    def _closed(self, places: int) -> int:
        """Add the places that are reached without a letter."""
        while True:
            more = places | (places & self._free) << 1 | (places & self._skip) << 2
            if more == places:
                return places
            places = more
