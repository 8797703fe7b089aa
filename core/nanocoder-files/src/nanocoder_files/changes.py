"""Every change to a file of the workspace."""

import contextlib
import errno
import os
import stat as mode_of
import threading
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanocoder_files.backups import Backups
from nanocoder_files.beneath import Made, Place
from nanocoder_files.content import digest
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.problems import FULL
from nanocoder_files.protected import git_refused, is_git_name
from nanocoder_files.root import READ, Root
from nanocoder_files.spelling import escape_path
from nanocoder_files.unfinished import Unfinished
from nanocoder_files.writing import (
    VERSION,
    Old,
    Pieces,
    Written,
    check_unchanged,
    content_of,
    read_old,
    rename,
    replace,
    stale,
    sync_directory,
    version_mark,
)

if TYPE_CHECKING:
    from nanocoder_files.intents import Intents
    from nanocoder_files.rollback import Rollback
    from nanocoder_files.snapshot import Snapshot

Watch = Callable[[Mapping[str, Any]], object]
"""Is told of each change before it is made."""
DIGEST_BYTES: Final = 8_000_000
"""Up to this size a file that is moved is read: one can tell later whether it is the same."""


class Changes:
    """Writes, deletes and moves below one root; *watch* is told of each before it is made.

    *seen* holds the digest of each file that this session has read, or written as a whole, by its
    path with links resolved. One that differs now is not changed, moved or deleted.
    """

    def __init__(
        self,
        root: Root,
        backups: Backups | None,
        max_bytes: int,
        watch: Watch | None,
        unfinished: Unfinished,
    ) -> None:
        self._root = root
        self._backups = backups
        self._max_bytes = max_bytes
        self._watch = watch
        self._unfinished = unfinished
        # Two threads must not both find a file unchanged and then both replace it.
        self._lock = threading.RLock()
        self.seen: dict[str, str] = {}
        self.rollback: Rollback | None = None
        self.snapshot: Snapshot | None = None

    def recording(
        self, begin: "Callable[[], Intents]", *, processes: bool
    ) -> "tuple[Changes, Rollback]":
        """Return these changes for one call that can be taken back; see `Workspace.recording`."""
        from nanocoder_files.replay import OwnReplay  # few calls need it
        from nanocoder_files.rollback import Rollback

        view = copy(self)  # everything is shared but what this call notes
        view._unfinished = Unfinished()  # noqa: SLF001 - the copy is ours; its intents know as much
        replay = OwnReplay(self._root, self._backups, self.seen, processes=processes)
        view.rollback = Rollback(begin, replay, self._lock, self.seen)
        return view, view.rollback

    def _made(self) -> Made:
        return Made(self.rollback.makes if self.rollback is not None else None)

    def write(
        self,
        raw: str,
        pieces: Pieces,
        *,
        expect_digest: str | None,
        expect: bytes | None,
        create_parents: bool,
        mode: int | None = None,
    ) -> Written:
        """Replace or create a file; see `Workspace.write_bytes`."""
        _refuse_git(raw)
        made = self._made() if create_parents else None
        with self._lock, self._undone(raw, made), self._root.place(raw, made=made) as place:
            self._refuse_names(place)
            old = self._old(place, expect)
            self._check_seen(raw, place, old.status if old else None, old)
            self._refuse_stale(place, old)
            if expect is None:
                self._check(place, old, expect_digest)
            elif old is None or old.data != expect:
                raise stale(escape_path(place.path))
            size = sum(map(len, pieces))

            def noted() -> str:
                new = digest(*pieces)
                self._tell("write", place.path, old, backup, after=new, made=_names(made))
                if self.rollback is not None:
                    self.rollback.writes(place.path, old, new, size)
                return new

            with self._backup(place, old) as backup:
                # What can be taken back is noted before there is even a new file beside the old.
                first = noted() if self.rollback is not None else None
                with self._unfinished.file(place) as name:
                    new = replace(
                        place, name, pieces, old, mode, meanwhile=lambda: first or noted()
                    )
            is_part = expect is not None or expect_digest
            # Who replaces a part of a file that was never read does not know the rest of it.
            if not old or not is_part or place.path in self.seen:
                self.seen[place.path] = new
            self._changed(raw, place.path)
        path, before = escape_path(place.path), old.data if old else None
        return Written(path, old is None, size, new, backup, before)

    def delete(self, raw: str) -> Path | None:
        """Delete a file, or a link itself; see `Workspace.delete`."""
        with self._lock, self._errors(raw), self._root.place(raw, follow=False) as place:
            self._refuse(place)
            status = place.stat()
            old = self._old(place) if mode_of.S_ISREG(status.st_mode) else None
            self._check_seen(raw, place, status, old)
            self._refuse_stale(place, old)
            with self._backup(place, old) as backup:
                if old:
                    check_unchanged(place, old)
                self._tell("delete", place.path, old, backup, kind=_kind(status))
                if self.rollback is not None:
                    self.rollback.removes(place, old)
                os.unlink(place.name, dir_fd=place.fd)
            sync_directory(place.fd)
            self.seen.pop(place.path, None)
            self._changed(raw, place.path)
        return backup

    def move(self, source: str, target: str, *, overwrite: bool) -> Written:
        """Rename a file, link or directory; see `Workspace.move`."""
        made = self._made()
        with (
            self._lock,
            self._undone(target, made),
            self._root.place(source, follow=False) as here,
            self._root.place(target, follow=False, made=made) as there,
        ):
            for place in (here, there):
                self._refuse(place, directories=True)
            status = self._status(here, source)
            self._check_seen(source, here, status)
            if here.path in self.seen and mode_of.S_ISREG(status.st_mode):
                with self._errors(here.path):
                    self._refuse_stale(here, self._old(here))
            old = self._replaced(there) if overwrite else None
            if overwrite:
                self._check_seen(target, there, old.status if old else None, old)
            with self._backup(there, old) as backup:
                if self._watch is not None:
                    about = {"kind": _kind(status), "after": self._digest(here, status)}
                    to = {"target": escape_path(there.path), "made": _names(made)}
                    self._tell("move", here.path, old, backup, **about, **to)
                if self.rollback is not None:
                    self.rollback.moves(here, there, old)
                rename(here, there, status, overwrite=overwrite)
            for place in (there, here):
                sync_directory(place.fd)
            follow(self.seen, here.path, there.path)
            self._changed(source, target, here.path, there.path)
        before = old.data if old else None
        known = self.seen.get(there.path, "")
        return Written(escape_path(there.path), old is None, status.st_size, known, backup, before)

    def make_dirs(self, raw: str) -> None:
        """Create a directory and those above it; see `Workspace.make_dirs`."""
        _refuse_git(raw)
        made, place = self._made(), raw + "/name"  # what is asked for is the directory of a name
        with self._lock, self._undone(raw, made), self._root.place(place, made=made, follow=False):
            if made:
                self._tell("make_dirs", raw, made=_names(made))

    def remove_dir(self, raw: str) -> None:
        """Remove an empty directory; see `Workspace.remove_dir`."""
        with self._lock, self._errors(raw), self._root.place(raw, follow=False) as place:
            self._refuse(place, directories=True)
            self._tell("remove_dir", place.path)
            if self.rollback is not None:
                self.rollback.removes(place)
            os.rmdir(place.name, dir_fd=place.fd)

    def check_directory(self, raw: str, path: str) -> None:
        """Refuse a directory that is not the one that a person was shown; note it for them."""
        with contextlib.suppress(OSError):
            with self._root.beneath.locate(raw) as place:
                status = place.stat()
            self._root.note(raw, status)
            if self.snapshot:
                self.snapshot.check(str(self._root.path), raw, path, status)

    def _check_seen(
        self, raw: str, place: Place, status: os.stat_result | None, old: Old | None = None
    ) -> None:
        """Refuse what is no longer as a person saw it before they agreed to this call."""
        if not self.snapshot:
            return

        def current() -> str:
            if old is None and status is not None:
                return self._digest(place, status)
            return old.digest if old else ""

        self.snapshot.check(str(self._root.path), raw, place.path, status, current)

    def _changed(self, *paths: str) -> None:
        if self.snapshot:
            self.snapshot.forget(*paths)

    def _tell(
        self,
        change: str,
        path: str,
        old: Old | None = None,
        backup: Path | None = None,
        **more: Any,
    ) -> None:
        """Let *watch* know what is about to change; what is empty or None is left out."""
        if self._watch is None:
            return
        told = {"root": str(self._root.path), "change": change, "path": escape_path(path), **more}
        if old:
            told |= {"before": old.digest, "mode": mode_of.S_IMODE(old.status.st_mode)}
        if backup:
            told["backup"] = f"{backup.parent.name}/{backup.name}"
        self._watch({name: value for name, value in told.items() if value})

    def _digest(self, place: Place, status: os.stat_result) -> str:
        """Return the digest of a small file that will be moved, "" of anything else."""
        if not mode_of.S_ISREG(status.st_mode) or status.st_size > DIGEST_BYTES:
            return ""
        with contextlib.suppress(OSError, WorkspaceError):
            old = self._old(place)
            return old.digest if old else ""
        return ""

    def _status(self, place: Place, raw: str) -> os.stat_result:
        with self._errors(raw):
            return place.stat()

    def _old(self, place: Place, expect: bytes | None = None) -> Old | None:
        """Read the file that will be replaced; None where there is none."""
        try:
            fd = os.open(place.name, READ | os.O_NOFOLLOW, dir_fd=place.fd)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(fd)
            self._check_kind(place.path, status)
            if status.st_size > self._max_bytes:
                raise _too_large(place.path, self._max_bytes)
            return read_old(fd, content_of(fd, status.st_size, expect), status)
        finally:
            os.close(fd)

    def _check_kind(self, path: str, status: os.stat_result) -> None:
        if mode_of.S_ISDIR(status.st_mode):
            raise self._root.problem(OSError(errno.EISDIR, ""), path)
        if not mode_of.S_ISREG(status.st_mode):
            raise self._root.problem(OSError(errno.ENXIO, ""), path)

    def _replaced(self, place: Place) -> Old | None:
        with self._errors(place.path):
            old = self._old(place)
        self._refuse_stale(place, old)
        return old

    def _refuse_stale(self, place: Place, old: Old | None) -> None:
        """Raise stale_read when *old* is not what this session knows of *place*."""
        known = self.seen.get(place.path)
        if known is None or old is None:  # a file that is gone has nothing left to lose
            return
        if known != (version_mark(old.status) if known.startswith(VERSION) else old.digest):
            raise stale(escape_path(place.path))

    def _check(self, place: Place, old: Old | None, expect_digest: str | None) -> None:
        if expect_digest is None:
            return
        if expect_digest == "" and old:
            raise self._root.problem(OSError(errno.EEXIST, ""), place.path)
        if expect_digest != (old.digest if old else ""):
            raise stale(escape_path(place.path))

    @contextlib.contextmanager
    def _backup(self, place: Place, old: Old | None) -> Iterator[Path | None]:
        """Keep *old* before the work at *place* is done; tell where."""
        if self._backups is None or old is None:
            yield None
            return
        try:
            kept = self._backups.link(place, old.status)
            backup = kept or self._backups.add(place.path, old.data)
        except OSError as error:
            raise WorkspaceError(
                f"{escape_path(place.path)!r} was not changed, because its backup failed: {error}",
                error_class="disk_full" if error.errno in FULL else "io_error",
            ) from error
        try:
            yield backup
        except BaseException:
            if kept:
                self._backups.drop(kept)
            raise
        if kept:
            self._backups.settle(kept, old.data)

    def _refuse(self, place: Place, *, directories: bool = False) -> None:
        """Refuse the root, git's own files and, unless *directories*, directories."""
        if place.path == ".":
            raise WorkspaceError(
                "the workspace itself cannot be deleted or moved", error_class="protected_path"
            )
        self._refuse_names(place)
        if place.name == "." and not directories:
            raise self._root.problem(OSError(errno.EISDIR, ""), place.path)

    def _refuse_names(self, place: Place) -> None:
        _refuse_git(place.path)
        self._root.refuse_own(place.path)

    @contextlib.contextmanager
    def _errors(self, raw: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._root.problem(error, raw) from error

    @contextlib.contextmanager
    def _undone(self, raw: str, made: list[str] | None) -> Iterator[None]:
        """Remove the directories in *made* when the work fails."""
        try:
            with self._errors(raw):
                yield
        except BaseException:
            for path in reversed(made or []):
                with (
                    contextlib.suppress(OSError, WorkspaceError),
                    self._root.beneath.locate(path, follow=False) as place,
                ):
                    os.rmdir(place.name, dir_fd=place.fd)
            raise


def follow(seen: dict[str, str], source: str, target: str) -> None:
    """Know what was moved, and what is below it, by its new name."""
    for path in [path for path in seen if path == source or path.startswith(source + "/")]:
        seen[target + path[len(source) :]] = seen.pop(path)


def _names(made: list[str] | None) -> list[str]:
    return [escape_path(path) for path in made or ()]


def _kind(status: os.stat_result) -> str:
    """Return "file", "directory" or "other": a link, or something special."""
    if mode_of.S_ISREG(status.st_mode):
        return "file"
    return "directory" if mode_of.S_ISDIR(status.st_mode) else "other"


def _refuse_git(path: str) -> None:
    # A directory of this name would make git read its settings from there.
    name = path.rpartition("/")[2]
    if is_git_name(name):
        raise git_refused(escape_path(path))


def _too_large(path: str, limit: int) -> WorkspaceError:
    return WorkspaceError(
        f"{escape_path(path)!r} is larger than {limit:,} bytes", error_class="too_large"
    )
