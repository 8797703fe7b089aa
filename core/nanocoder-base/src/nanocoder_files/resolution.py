"""Resolve a path by the walk of the workspace, to judge it before anything is opened."""

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

from nanocoder_schema import value

from nanocoder_files import protected
from nanocoder_files.beneath import LISTING, Beneath, Place
from nanocoder_files.paths import MAX_PATH_BYTES, WorkspaceError, climbs, tidy_path
from nanocoder_files.private_files import closing_file
from nanocoder_files.protected import PROGRAM, STATE, Protection, protection_of

VENV_MARK = "pyvenv.cfg"
OUTSIDE = "path_outside_workspace"


@value
class ResolvedPath:
    """A path resolved by the walk with which the workspace opens files.

    *names* are all names that the walk gave the file, without "." and "..": first as it is spelled,
    then after each link, last the real one. They are relative to the workspace for what lies in it,
    "." for itself, and absolute for anything else. *place* is the real one, absolute. *places* are
    all of them, absolute, and in a sub-agent's copy of a workspace also their originals.
    *is_inside*: the walk never left the workspace, so that its tools may open the file. *exists*:
    something is there. *protection* tells why a change needs approval, None if it needs none.
    *is_private*: it is in a directory of nanocoder's settings and sessions, other than the
    session's own.
    """

    names: tuple[str, ...]
    place: str
    places: tuple[str, ...]
    is_inside: bool
    exists: bool
    protection: Protection | None = None
    is_private: bool = False

    @property
    def path(self) -> str:
        """The real name: relative to the workspace, or absolute."""
        return self.names[-1]


class Trace(Place):
    """A walk that records each name of its path, and continues where nothing exists."""

    def __init__(self, beneath: Beneath, path: str, *, follow: bool = True) -> None:
        super().__init__(beneath, path, follow=follow)
        self.names, self._missing = list[str](), list[str]()
        self.exists = False
        self.loop: WorkspaceError | None = None

    def run(self) -> bool:
        """Walk to the end; return False for a path that leads outside."""
        try:
            self._note()
            while self._pending:
                self._advance(self._pending.pop())
            self.exists = not self._missing and self._is_there()
        except WorkspaceError as error:
            if error.error_class == OUTSIDE:
                return False
            # Nothing can be opened after a loop: the rest is named as spelled.
            self.loop = error
            self._missing = [part for part in self._pending[::-1] if part != ".."]
            self._pending.clear()
        finally:
            self.close()
        self.names = self.names or [self._name()]
        return True

    def _advance(self, name: str) -> None:
        # By its spelling: nothing is there, so the kernel could not take this step either.
        if self._missing and name == "..":
            self._missing.pop()
        elif self._missing:  # a missing directory has no links
            self._missing.append(name)
        else:
            try:
                self._step(name)
            except (OSError, ValueError):  # missing, no directory, forbidden, or no valid name
                self._missing.append(name)
        self._note()

    def _is_there(self) -> bool:
        try:
            return bool(self.stat())
        except (OSError, ValueError):
            return False

    def _note(self) -> None:
        """Record the name after a ".." or a link; other steps change none."""
        if ".." not in self._pending and self.names[-1:] != [name := self._name()]:
            self.names.append(name)

    def _name(self) -> str:
        return "/".join([*self._trail, *self._missing, *self._pending[::-1]]) or "."


class DiskTrace(Trace):
    """The same on the whole disk: the parent of its root is the root."""

    def _up(self) -> None:
        if self._trail:
            super()._up()


class Resolver:
    """Resolves paths for the workspace *root*.

    *own* are nanocoder's directories of settings and sessions, *readable* the session's own among
    them, *origins* the workspaces that *root* is a copy of, nearest first.
    """

    def __init__(
        self, root: str, own: Iterable[str] = (), readable: str = "", origins: Sequence[str] = ()
    ) -> None:
        self.root = os.path.realpath(root)
        self.own = protected.folded_paths(map(os.path.realpath, own))
        self._holds_own = protected.touches(self.root, self.own)
        self._programs = _running()
        self._readable = protected.folded_paths([os.path.realpath(readable)] if readable else ())
        self._origin = Resolver(origins[0], origins=origins[1:]) if origins else None

    def resolve(self, path: str, directory: str = ".", *, literal: bool = False) -> ResolvedPath:
        """Resolve *path*, relative to *directory*; see `SessionInfo.resolve`."""
        path = path if directory == "." else os.path.join(directory, path)
        name, is_odd = tidy_path(path), ".." in path or path[:1] in {"", "/"}
        is_odd = is_odd or ("\\" in path and not literal) or self._origin is not None
        exists = None if is_odd else _exists_without_links(self.root, name)
        if exists is not None:
            return self._judged([name], [_joined(self.root, name)], is_inside=True, exists=exists)
        try:
            fd = os.open(self.root, LISTING)
        except OSError:  # there is no workspace, so every path is outside
            return self._outside(path, literal=literal)
        with closing_file(fd):
            return self.beneath(Beneath(fd, self.root), path, literal=literal)

    def beneath(self, beneath: Beneath, path: str, *, literal: bool = False) -> ResolvedPath:
        """Resolve *path* in a workspace that is already open."""
        try:
            raw = beneath.relative(path, literal=literal)
        except WorkspaceError:
            return self._outside(path, literal=literal)
        trace = Trace(beneath, raw)
        # A tool may not open such a path, whatever its links.
        if (not literal and climbs(raw)) or not trace.run():
            return self._outside(path, literal=literal)
        names = trace.names
        places = [_joined(self.root, name) for name in names]
        if self._origin is not None:
            # A copy of a workspace is judged as the original, too, because rules name its paths.
            places += [place for name in names for place in self._origin.resolve(name).places]
        return self._judged(names, places, is_inside=True, exists=trace.exists)

    def _outside(self, path: str, *, literal: bool) -> ResolvedPath:
        with closing_file(os.open("/", LISTING)) as fd:
            disk = Beneath(fd, "/")
            trace = DiskTrace(disk, disk.relative(os.path.join(self.root, path), literal=literal))
            trace.run()
        places = [_joined("/", name) for name in trace.names]
        names = [_relative(place, self.root) for place in places]
        return self._judged(names, places, is_inside=False, exists=trace.exists)

    def _judged(
        self, names: list[str], places: list[str], *, is_inside: bool, exists: bool
    ) -> ResolvedPath:
        place = _joined(self.root, names[-1])
        is_own = (self._holds_own or not is_inside) and protected.is_in(place, self.own)
        is_private = is_own and not protected.is_in(place, self._readable)
        why = STATE if is_own else self._protection(names, place, exists=exists)
        return ResolvedPath(tuple(names), place, tuple(places), is_inside, exists, why, is_private)

    def _protection(self, names: list[str], place: str, *, exists: bool) -> Protection | None:
        if why := next(filter(None, map(protection_of, names)), None):
            return why
        if names[-1] == ".":
            return None
        return PROGRAM if place in self._programs else self._installed(names[-1], exists=exists)

    def _installed(self, real: str, *, exists: bool) -> Protection | None:
        """Return the protection of *real* as a file of a virtual environment, or None."""
        if real.startswith("/"):
            return None
        folder = self.root
        for part in real.split("/"):
            if len(folder) > MAX_PATH_BYTES:  # the system cannot open a longer path
                return None
            if protected.fold_name(part) in protected.IN_VENV and self._is_venv(folder):
                return PROGRAM
            folder = f"{folder}/{part}"
        return PROGRAM if exists and self._is_venv(folder) else None

    def _is_venv(self, folder: str) -> bool:
        return folder in self._programs or os.path.exists(f"{folder}/{VENV_MARK}")


# One resolver per session, so that its directories are looked up once.
resolver = lru_cache(maxsize=64)(Resolver)


def _joined(root: str, name: str) -> str:
    """Return *name*, which has no "..", as an absolute path."""
    if name[0] == "/":
        return name
    return root if name == "." else f"{root}/{name}" if root != "/" else f"/{name}"


def _relative(place: str, root: str) -> str:
    return "." if place == root else place.removeprefix(os.path.join(root, ""))


def _exists_without_links(root: str, name: str) -> bool | None:
    """Return True if *name* exists in *root*, None if a link or an error requires the walk.

    Most words and arguments name no link, and the walk takes four times as long.
    """
    place = root
    for part in name.split("/"):
        place = f"{place}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return None
        except (FileNotFoundError, NotADirectoryError):
            return False if name.isascii() and os.access(f"{root}/.", os.F_OK) else None
        except (OSError, ValueError):
            return None
    return True


@lru_cache(maxsize=1)
def _running() -> frozenset[str]:
    """Return the real paths of the running program and of the environment with its packages."""
    return frozenset(os.path.realpath(path) for path in (*sys.argv[:1], sys.prefix) if path)
