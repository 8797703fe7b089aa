"""Protected names that come along when a command copies or moves a whole folder into another."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from nanocoder import ProtectionKind

from nanocoder_policy_rules import candidates, written_files
from nanocoder_policy_rules.command_search import Text
from nanocoder_policy_rules.reach import HERE, Reach
from nanocoder_policy_rules.segment import Segment, program

if TYPE_CHECKING:
    from nanocoder_policy_rules.named_places import NamedPlaces

_COPIERS: Final = frozenset(("cp", "mv", "rsync", "install"))
_FINDERS: Final = frozenset(("find", "xargs", "parallel"))
# Packages bring thousands of such names, and no program opens these folders as a project.
_PACKAGES: Final = frozenset(("node_modules", "site-packages", "dist-packages"))
_MOST_NAMES: Final = 20_000


class Brought(NamedTuple):
    """A protected *path* that a command would fill from a folder, and why; "" without one.

    With *is_cut* there are more names than were looked at.
    """

    path: str = ""
    reason: str = ""
    is_cut: bool = False


_NOTHING: Final = Brought()


class Copy(NamedTuple):
    """What a command copies, and where to; the names in *excluded* stay behind.

    With *is_flat* files of every depth go right into the target. With *takes_hidden* `*` stands for
    names with a dot, too.
    """

    sources: Sequence[str]
    target: str
    excluded: frozenset[str]
    is_flat: bool
    takes_hidden: bool


def brought_along(text: Text, places: "NamedPlaces", reach: Reach) -> Brought:
    """Return the first protected path that comes along with the folders that a command copies."""
    if _COPIERS.isdisjoint(text.words):
        return _NOTHING
    for copy in _copies(text):
        for folder in (HERE, *places.directories):
            brought = _first_protected(copy, folder, reach)
            if brought != _NOTHING:
                return brought
    return _NOTHING


def _copies(text: Text) -> Iterator[Copy]:
    is_flat = not _FINDERS.isdisjoint(text.words)
    searched = [folder for each in text.segments for folder in _searched(each)] if is_flat else []
    for segment in text.segments:
        for name, arguments in written_files.writers(segment):
            if name in _COPIERS:
                sources, target = _operands(arguments)
                excluded = frozenset(word.strip("/") for word in arguments)
                target = candidates.expand_home(target)
                all_sources = [*sources, *searched]
                yield Copy(all_sources, target, excluded, is_flat, "dotglob" in text.text)


def _operands(arguments: Sequence[str]) -> tuple[list[str], str]:
    """Return what is copied, and where to."""
    words = [word for word in arguments if word[:1] != "-" and word not in {"+", ";", "\\"}]
    at = next((at for at, word in enumerate(arguments) if word in {"-t", "--target-directory"}), -1)
    if at >= 0 and arguments[at + 1 :]:
        return [word for word in words if word != arguments[at + 1]], arguments[at + 1]
    return words[:-1], words[-1] if words else "."


def _searched(segment: Segment) -> Sequence[str]:
    """Return the folders that a command goes through with `find`."""
    words = segment.words
    if not words or program(words[0]) != "find":
        return ()
    end = next((at for at, word in enumerate(words) if word[:1] in "-!("), len(words))
    return words[1:end] or (HERE,)


def _first_protected(copy: Copy, folder: str, reach: Reach) -> Brought:
    names = (name for source in copy.sources for name in _below(copy, folder, source, reach))
    for number, name in enumerate(names):
        if number > _MOST_NAMES:
            return Brought(is_cut=True)
        if not copy.excluded.isdisjoint(name.split("/")):
            continue
        resolved = reach.operand(os.path.join(folder, copy.target, name))
        why = resolved.protection if resolved.is_inside else None
        # Many programs are called like a part of a repository, such as `head`.
        if why is not None and why.kind is not ProtectionKind.REPOSITORY:
            return Brought(_join(copy.target, name), why.reason)
    return Brought()


def _below(copy: Copy, folder: str, source: str, reach: Reach) -> Iterator[str]:
    """Yield the names that a copy of *source* may have at its target."""
    start = os.path.join(reach.folder, folder, candidates.expand_home(source))
    for top in _matches(start, takes_hidden=copy.takes_hidden):
        bare = top.rstrip("/")
        base = os.path.basename(bare)
        if not os.path.isdir(top) or os.path.islink(bare):
            continue
        for name in islice(_walk(top), _MOST_NAMES + 2):
            if copy.is_flat:
                yield os.path.basename(name)
            yield from (name, os.path.join(base, name))


def _matches(path: str, *, takes_hidden: bool) -> list[str]:
    """Return what a word with wildcards in its last name stands for, or the word itself."""
    folder, name = os.path.split(path)
    if candidates.WILD.isdisjoint(name):
        return [path]
    try:
        names = os.listdir(folder)
    except OSError:  # missing or no folder: nothing is copied
        return []
    return [
        os.path.join(folder, each)
        for each in names
        if fnmatchcase(each, name) and (takes_hidden or each[:1] != "." or name[:1] == ".")
    ]


def _walk(top: str) -> Iterator[str]:
    """Yield the names below a folder, as paths from it."""
    for folder, folders, files in os.walk(top):
        relative = os.path.relpath(folder, top)
        folders[:] = [name for name in folders if name not in _PACKAGES]
        for name in (*folders, *files):
            yield _join(relative, name)


def _join(folder: str, name: str) -> str:
    return os.path.join(folder, name).removeprefix("./")
