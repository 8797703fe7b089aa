"""What the inside of a waiting sandbox shows, compared with what it would show if made now.

A waiting sandbox is made of mounts that are minutes old. Meanwhile a file may have been replaced:
what is mounted is the old one then, and what hid the old one hides nothing any more. So before a
command gets a sandbox, the table of its mounts has to be as it was, and each place in it has to be
the very file that is at its source now.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

_BINDS: Final = {
    "--bind": (False, False),
    "--ro-bind": (True, False),
    "--bind-try": (False, True),
    "--ro-bind-try": (True, True),
}
"""By option: whether the place is read-only, and whether its source may be missing."""
_EMPTY: Final = ("--tmpfs", "--dev", "--proc")
_WORDS_OF: Final = {"--setenv": 2, "--unsetenv": 1, "--perms": 1}
_BLOCK_BYTES: Final = 1 << 16
_POINT, _OPTIONS = 4, 5
"""Which words of a line of the table are the place of a mount, and its options."""


class Place:
    """A mount at *target*: of *source*, or of something empty where that is ""."""

    def __init__(self, target: str, source: str, *, is_read_only: bool, may_miss: bool) -> None:
        self.target = target
        self.source = source
        self.is_read_only = is_read_only
        self.may_miss = may_miss
        self.inside = target.strip("/") or "."


def places_of(options: list[str]) -> Iterator[Place]:
    """Yield the places that *options* of bubblewrap show."""
    words = iter(options)
    for word in words:
        if word in _BINDS:
            is_read_only, may_miss = _BINDS[word]
            source = next(words)
            yield Place(next(words), source, is_read_only=is_read_only, may_miss=may_miss)
        elif word in _EMPTY:
            yield Place(next(words), "", is_read_only=False, may_miss=False)
        else:
            for _ in range(_WORDS_OF.get(word, 0)):
                next(words)


class View:
    """The mounts that the process *first*, the first inside, has by *options*.

    Raises: OSError where it has ended, or does not see what the options say.
    """

    def __init__(self, first: int, options: list[str]) -> None:
        self._table = os.open(f"/proc/{first}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._root = os.open(f"/proc/{first}/root", os.O_PATH | os.O_CLOEXEC)
        self._places = list(places_of(options))
        self._text = self._read()
        if not self._is_as_options_say() or not self.has_same_files():
            raise OSError("the sandbox does not show what it should")

    def has_same_files(self) -> bool:
        """Tell whether each place shows the file that is at its source now."""
        return all(map(self._is_current, self._places))

    def has_only(self, points: list[str]) -> bool:
        """Tell whether the mounts are as they were, with others at *points* and nowhere else."""
        text = self._read()
        added = [line.split(b" ") for line in text[len(self._text) :].splitlines()]
        there = sorted(_unescaped(words[_POINT]) for words in added)
        return text.startswith(self._text) and there == sorted(map(os.fsencode, points))

    def _is_as_options_say(self) -> bool:
        """Tell whether each place is a mount, there and at no link, that can be changed or not."""
        lines = [line.split(b" ") for line in self._text.splitlines()]
        options = {_unescaped(words[_POINT]): words[_OPTIONS].split(b",") for words in lines}
        for place in self._places:
            flags = options.get(os.fsencode(place.target))
            if flags is None and not (place.may_miss and not os.path.exists(place.source)):
                return False
            if place.is_read_only and flags is not None and b"ro" not in flags:
                return False
        return True

    def _is_current(self, place: Place) -> bool:
        if not place.source:
            return True
        try:
            now = os.stat(place.source)
        except OSError:
            return place.may_miss and not self._shows(place)
        try:
            inside = os.stat(place.inside, dir_fd=self._root, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(now, inside)

    def _shows(self, place: Place) -> bool:
        try:
            os.stat(place.inside, dir_fd=self._root, follow_symlinks=False)
        except OSError:
            return False
        return True

    def _read(self) -> bytes:
        text = b""
        while piece := os.pread(self._table, _BLOCK_BYTES, len(text)):
            text += piece
        return text


def _unescaped(path: bytes) -> bytes:
    """Return a path of the table, in which four kinds of letters are octal numbers."""
    for letter in b"\n\t ":
        path = path.replace(b"\\%03o" % letter, bytes((letter,)))
    return path.replace(b"\\134", b"\\")


def variables_of(options: list[str]) -> dict[bytes, bytes | None]:
    """Return the variables that *options* of bubblewrap set, and those that they remove."""
    variables: dict[bytes, bytes | None] = {}
    for at, word in enumerate(options):
        if word == "--setenv":
            variables[os.fsencode(options[at + 1])] = os.fsencode(options[at + 2])
        elif word == "--unsetenv":
            variables[os.fsencode(options[at + 1])] = None
    return variables
