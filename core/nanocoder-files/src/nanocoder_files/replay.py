"""Taking changes back, the last one first; as often as it takes: what is done is left alone."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import evolve, frozen
from nanocoder_schema import Value

from nanocoder_files.backups import Backups
from nanocoder_files.beneath import LISTING, Made, Place
from nanocoder_files.changes import follow
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.intents import Intent, Intents
from nanocoder_files.root import Root
from nanocoder_files.spelling import escape_path
from nanocoder_files.state import (
    DIRECTORY,
    FILE,
    NOTHING,
    State,
    content_of,
    is_same,
    put,
    state_of,
)
from nanocoder_files.writing import stray_owner, temporary_name

NOT_EMPTY: Final = {errno.ENOTEMPTY, errno.EEXIST}
KEPT_COPIES: Final = 1_000
CHANGED_SINCE: Final = "has changed since and was left as it is"


@frozen(eq=False, repr=False)
class Restored(Value):
    """What was put back: *paths* in the order in which they had been changed.

    *lost* has a line for each path that is not as it was. *then* says what comes of those that
    could not be put back, and where the copies are of what was replaced.
    """

    paths: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    then: str = ""


class Replay:
    """Takes intents back. `restored` tells what came of it, *failed* whether to try once more."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._paths: list[str] = []
        self._lost: dict[str, str] = {}
        self.failed = False

    @property
    def root(self) -> Path:
        """The directory of the files."""
        return self._root.path

    @property
    def restored(self) -> Restored:
        """What was put back so far, and what was not."""
        paths = [path for path in dict.fromkeys(reversed(self._paths)) if path not in self._lost]
        return Restored(tuple(map(escape_path, paths)), tuple(self._lost.values()))

    def undo(self, intents: Intents, intent: Intent) -> None:
        """Take one change back; one that was not made, or is undone, is left as it is."""
        path = intent.target or intent.path
        try:
            if path not in self._lost:
                undo = self._move_back if intent.target else self._put_back
                undo(intents, intent)
            if path not in self._lost and intent.path not in self._lost:
                with suppress(OSError):  # it is undone all the same, and seen to be so later
                    intents.mark(intent)
        except (FileNotFoundError, NotADirectoryError):
            self.failed = self.failed or self.tries_again
            self._lose(path, "could not be restored, because its folder is gone")
        except (OSError, WorkspaceError, ValueError, OverflowError) as error:
            self.failed = True
            reason = getattr(error, "strerror", None) or str(error)
            self._lose(intent.path, f"could not be restored: {reason}")

    makes_folders = False
    tries_again = False

    def may_replace(self, place: Place, path: str) -> bool:
        """Tell whether *place*, at *path*, may be replaced: it is not what the call has left."""
        raise NotImplementedError

    def prepare(self, place: Place) -> None:
        """Do what is to be done before *place* is looked at."""

    def moved_back(self, intent: Intent) -> None:
        """Let a session know that a thing has its old name again."""

    def forget(self, intent: Intent) -> None:
        """Let a session know that *intent* was taken back."""

    def _put_back(self, intents: Intents, intent: Intent) -> None:
        try:
            place = self._located(intent.path, make=intent.before.kind != NOTHING)
        except (FileNotFoundError, NotADirectoryError):
            if intent.before.kind == NOTHING:
                return
            raise
        with place:
            self.prepare(place)
            now = state_of(place)
            if now.resembles(intent.before) and now.mode == intent.before.mode:
                self.forget(intent)
            elif (
                now.resembles(intent.after)
                or now.kind == intent.before.kind == DIRECTORY  # killed before it had its mode
                or self.may_replace(place, intent.path)
            ):
                self._put(place, intent, intents.data(intent), intent.path)
                self.forget(intent)

    def _move_back(self, intents: Intents, intent: Intent) -> None:
        with self._located(intent.path, make=True) as here:
            was = state_of(here)
            try:
                there = self._located(intent.target)
            except (FileNotFoundError, NotADirectoryError):
                if was.resembles(intent.after):
                    return  # the move was not begun, or has been taken back
                raise
            with there:
                self.prepare(there)
                if not self._moved(here, there, was, intent):
                    return
                if intent.before.kind != NOTHING and state_of(there).kind == NOTHING:
                    self._put(there, intent, intents.data(intent), intent.target)
        self.forget(intent)

    def _moved(self, here: Place, there: Place, was: State, intent: Intent) -> bool:
        """Give a thing its old name; False where something else is in the way."""
        now = state_of(there)
        if was.kind != NOTHING:
            if was.resembles(intent.after):
                if now.kind != NOTHING and is_same(here, there):
                    os.unlink(there.name, dir_fd=there.fd)  # killed between two names
                return True
        elif now.kind != NOTHING and (
            now.resembles(intent.after) or self.may_replace(there, intent.target)
        ):
            os.rename(there.name, here.name, src_dir_fd=there.fd, dst_dir_fd=here.fd)
            self._paths.append(intent.path)
            self.moved_back(intent)
            return True
        self._lose(
            intent.path, f"was moved to {escape_path(intent.target)!r} and could not be moved back"
        )
        return False

    def _put(self, place: Place, intent: Intent, data: bytes, path: str) -> None:
        try:
            put(place, intent.before, data)
        except OSError as error:
            # A directory that the call has made stays while others have something in it.
            if error.errno not in NOT_EMPTY or intent.after.kind != DIRECTORY:
                raise
            return
        self._paths.append(path)

    def _located(self, path: str, *, make: bool = False) -> Place:
        made = Made() if make and self.makes_folders else None
        return self._root.beneath.locate(path, follow=False, made=made)

    def _lose(self, path: str, what: str) -> None:
        self._lost.setdefault(path, f"{escape_path(path)!r} {what}")


class OwnReplay(Replay):
    """Takes back what a call of this very process has changed.

    What processes of the call have made of its files since is replaced, and *backups* take it; of
    a call without *processes* somebody else has done that, and it stays. *seen* are the digests
    that the session knows.
    """

    makes_folders = True
    tries_again = True

    def __init__(
        self, root: Root, backups: Backups | None, seen: dict[str, str], *, processes: bool
    ) -> None:
        super().__init__(root)
        self._processes = processes
        self._backups = backups
        self._seen = seen
        self.seen_before = ""
        self._replaced: dict[str, Path] = {}

    @property
    def restored(self) -> Restored:
        """Tell of what was replaced, too."""
        found = super().restored
        if not self._replaced:
            return found
        names = ", ".join(map(escape_path, self._replaced))
        folder = next(iter(self._replaced.values())).parent.parent
        then = f"changed by others meanwhile, and replaced: {names} (copies are in {folder})"
        return evolve(found, then=then)

    def may_replace(self, place: Place, path: str) -> bool:
        """Keep a copy and agree, or leave it to the person."""
        if not self._processes:
            self._lose(path, CHANGED_SINCE)
        elif self._backups is not None and state_of(place).kind == FILE:
            self._replaced[path] = self._backups.add(path, content_of(place))
        return self._processes

    def moved_back(self, intent: Intent) -> None:
        """Know what was moved by its old name."""
        follow(self._seen, intent.target, intent.path)

    def forget(self, intent: Intent) -> None:
        """Know of the file what was known before it was changed."""
        path = intent.target or intent.path
        if self.seen_before:
            self._seen[path] = self.seen_before
        else:
            self._seen.pop(path, None)


class LateReplay(Replay):
    """Takes back what killed processes have changed: *owners* by their numbers.

    What somebody has changed since is left as it is; the copy of what was there goes to *kept*.
    """

    def __init__(self, root: Root, owners: Iterable[int], kept: Path) -> None:
        super().__init__(root)
        self._owners = set(owners)
        self._kept = Backups(kept, KEPT_COPIES)
        self._copies: dict[str, Path] = {}

    @property
    def restored(self) -> Restored:
        """Tell where the copies are, too."""
        found = super().restored
        held = {path: f"; its earlier content is in {copy}" for path, copy in self._copies.items()}
        lost = (line + held.get(path, "") for path, line in self._lost.items())
        return Restored(found.paths, tuple(lost))

    def undo(self, intents: Intents, intent: Intent) -> None:
        """Take one change back; of a path that is left alone, keep the oldest content."""
        super().undo(intents, intent)
        path = intent.target or intent.path
        if path in self._lost and intent.before.kind == FILE:
            try:
                self._copies[path] = self._kept.add(path, intents.data(intent))
            except (OSError, ValueError):
                self.failed = True  # the intents stay: they hold the only copy

    def may_replace(self, place: Place, path: str) -> bool:  # noqa: ARG002 - it is not looked at
        """Leave it to the person."""
        self._lose(path, CHANGED_SINCE)
        return False

    def prepare(self, place: Place) -> None:
        """Remove the files that were killed half-way, those for *place* alone."""
        mark = temporary_name(place.name).rpartition(".nc-")[0] + ".nc-"
        for name in _names(place):
            if name.startswith(mark) and stray_owner(name) in self._owners:
                os.unlink(name, dir_fd=place.fd)


def _names(place: Place) -> list[str]:
    listing = os.open(".", LISTING, dir_fd=place.fd)
    try:
        return os.listdir(listing)
    finally:
        os.close(listing)
