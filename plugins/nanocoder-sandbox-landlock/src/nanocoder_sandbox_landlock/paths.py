"""Decide which paths are changed on behalf of a command inside Landlock."""

from __future__ import annotations

import errno
import os

from nanocoder_kit_sandbox.git_folder import UNDER_WAY, GitFolder

from nanocoder_sandbox_landlock import kernel
from nanocoder_sandbox_landlock.caller import GoOn, Place, facts_of, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Final

NEW, THERE, ANY = (False,), (True,), (False, True)
"""The required existence of a name for a call to change something."""
DENIED, GRANTED, MIXED, IN_GIT, SHARED, OUTSIDE = range(6)
"""A path is protected, granted by Landlock, beside something protected, of git, shared, or else."""
_DONE_HERE: Final = (MIXED, IN_GIT, SHARED)
SHARED_FOLDER: Final = "/dev/shm"  # noqa: S108
_SHARED_NAMES: Final = (b"sem.", b"pym-", b"psm_", b"torch_")
"""Prefixes of semaphores and memory that the processes of one command share."""
_TMP: Final = "/tmp/"  # noqa: S108
_MOST_NOTES: Final = 20
_MOST_LOCKS: Final = 64
"""So many of git's locks at once are removed if it is killed; each takes a file descriptor."""
READ_ONLY, NO_TMP, NOT_GIT = "read-only:", "tmp:", "git:"
"""Prefixes of the notes on refused changes."""
NO_REBASE: Final = (
    "cannot be made in this sandbox: a rebase, or another work of git in several steps, needs"
    ' access "outside"'
)


class PathRules:
    """The paths of the *rules* of one command.

    "denied" are paths that no process inside may change, "mixed" the folders above them, *granted*
    what Landlock lets them change: which file each path led to when its right was given. With
    "read_only" nothing of the workspace "root" may be changed. Refused writes are noted in
    *notes*, a file descriptor.
    """

    def __init__(
        self, rules: dict[str, Any], granted: dict[str, tuple[int, int]], notes: int
    ) -> None:
        self._root, self._is_read_only = rules["root"], rules["read_only"]
        self._granted = granted
        self._denied, self._mixed = frozenset(rules["denied"]), frozenset(rules["mixed"])
        self._shared: set[tuple[int, int]] = set()
        self._locks: dict[str, int] = {}
        self._notes, self._noted = notes, set[str]()
        self.git = GitFolder(self._root, rules["git"], rules["libraries"], self._denied)

    def state_for(self, place: Place, existence: Collection[bool] = ()) -> int:
        """Return the state of *place*; raises GoOn if its name may not be changed.

        *existence*: NEW, THERE or ANY, when the call would change something.
        """
        state = self._state(place.path if self.git.find(place.path) else place.folder)
        if place.path in self._denied or place.path in self._mixed:
            state = DENIED
        elif place.folder == SHARED_FOLDER:
            state = self._shared_state(place)
        if (state in _DONE_HERE or state == GRANTED) and place.is_right:
            return state
        if existence and bool(place.mode) in existence:
            self._refuse(place.path, state)
        raise GoOn

    def must_be(self, states: Collection[int], place: Place, existence: Collection[bool]) -> int:
        """Return the state of a place, one of *states*; raises GoOn for any other."""
        state = self.state_for(place, existence)
        if state not in states:
            raise GoOn
        return state

    def is_granted(self, path: str) -> bool:
        """Tell whether Landlock itself lets the command change what is at *path* now."""
        return path in self._granted and self._granted[path] == kernel.identity(path)

    def share(self, descriptor: int) -> None:
        """Take note of a new file that the processes of the command share."""
        self._shared.add(facts_of(descriptor))

    def take_note_of_lock(self, path: str, descriptor: int) -> None:
        """Take note of git's lock at *path*, which a command has just made.

        It stays open, so that no later file of a git outside is taken for it by its number.
        """
        self._forget_locks_that_are_gone()
        if len(self._locks) < _MOST_LOCKS:
            self._locks[path] = os.dup(descriptor)

    def _forget_locks_that_are_gone(self) -> None:
        for path, lock in list(self._locks.items()):
            if kernel.identity(path) != facts_of(lock):
                os.close(self._locks.pop(path))

    def own(self, descriptor: int) -> str:
        """Return a path for *descriptor* if it may be changed; raises OSError otherwise."""
        path = path_of(descriptor)
        state = self._state(path)
        if state == DENIED:
            self._refuse(path, state)
        is_ours = state in (MIXED, GRANTED, IN_GIT) or facts_of(descriptor) in self._shared
        if not is_ours or kernel.identity(path) != facts_of(descriptor):
            raise PermissionError(errno.EPERM, "")
        return f"/proc/self/fd/{descriptor}"

    def replace(self, lock: Place, file: Place) -> None:
        """Put a copy of git's *lock* in the place of *file*; raises OSError where it may not be."""
        if not lock.is_right:
            raise GoOn
        if problem := self.git.replace(lock.descriptor, lock.name, file.path):
            self._note(NOT_GIT + problem)
            raise PermissionError(errno.EPERM, "")

    def _note(self, line: str) -> None:
        """Have a line about what was refused reach the session, each once."""
        if len(self._noted) < _MOST_NOTES and line not in self._noted:
            self._noted.add(line)
            os.write(self._notes, os.fsencode(line) + b"\0")

    def close(self) -> None:
        """Remove what a command that has ended left where others would find it."""
        self._forget_locks_that_are_gone()
        for path in self._locks:
            try:
                os.unlink(path)
            except OSError:  # somebody else did
                continue
        if self._shared:
            for name in os.listdir(SHARED_FOLDER):
                if kernel.identity(path := f"{SHARED_FOLDER}/{name}") in self._shared:
                    os.unlink(path)

    def _state(self, path: str) -> int:
        if place := self.git.find(path):
            return IN_GIT if self.git.allows(*place) else DENIED
        while path.startswith("/") and path != "/":
            if path in self._denied:
                return DENIED
            if path in self._granted:
                return GRANTED if self.is_granted(path) else MIXED
            if path in self._mixed:
                return MIXED
            path = os.path.dirname(path)
        return OUTSIDE

    def _shared_state(self, place: Place) -> int:
        is_new = not place.mode and place.name.startswith(_SHARED_NAMES)
        return SHARED if is_new or kernel.identity(place.path) in self._shared else OUTSIDE

    def _refuse(self, path: str, state: int) -> None:
        """Take note of what is refused; raises OSError where the workspace is read-only."""
        if self._is_read_only and state == DENIED:
            self._note(READ_ONLY + path.removeprefix(f"{self._root}/"))
            raise OSError(errno.EROFS, "")
        if (place := self.git.find(path)) and place[1] in UNDER_WAY:
            self._note(f"{NOT_GIT}{path.removeprefix(f'{self._root}/')} {NO_REBASE}")
        if path.startswith(_TMP) and not path.startswith(f"{self._root}/"):
            self._note(NO_TMP + path)
