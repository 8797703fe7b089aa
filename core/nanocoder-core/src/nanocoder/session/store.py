"""All sessions of a user: making, finding, resuming, removing them."""

import errno
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from nanocoder_files import open_private

from nanocoder.config.places import state_dir
from nanocoder.errors import ConfigError, PersonError, UsageError
from nanocoder.session.journal import Journal, Warn, locked, private_directory
from nanocoder.session.messages import encode_message
from nanocoder.session.records import Record, Scan, read, read_kind, scan
from nanocoder.session.summary import SessionSummary, summary_of
from nanocoder.session.transcript import Transcript, repaired, titled

ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"
ID: Final = re.compile(r"\d{8}-\d{6}-[a-z0-9]{4}")
TRIES: Final = 20
TICK_S: Final = 0.001
DAY_S: Final = 86_400.0
# A session from further ahead is a mistake, not a sign that the clock was put back.
CLOCK_JUMP_S: Final = 7 * DAY_S


class SessionStore:
    """The sessions below *folder*; *warn* is told what could not be kept, or was mended."""

    def __init__(self, folder: Path, *, warn: Warn = lambda _message: None) -> None:
        self.folder = folder / "sessions"
        self._warn = warn

    @classmethod
    def of_user(
        cls, environment: Mapping[str, str] = os.environ, *, warn: Warn = lambda _message: None
    ) -> "SessionStore":
        """Return the store in the user's state directory; without one, sessions stay in memory."""
        try:
            return cls(state_dir(environment), warn=warn)
        except ConfigError:
            return cls(Path(os.devnull), warn=warn)

    def create(
        self,
        cwd: Path,
        model: str = "",
        mode: str = "",
        *,
        forked_from: str = "",
        about: Mapping[str, str] | None = None,
    ) -> tuple[str, Journal]:
        """Start a session; where nothing can be written, in memory alone, and *warn* is told.

        *about* is what its first record says besides.
        """
        at = self._after_the_newest()
        try:
            private_directory(self.folder)
            session_id, descriptor = self._new_file(at)
            path = self._path(session_id)
            journal = Journal(session_id, path, descriptor, warn=self._warn, not_before=at)
        except OSError as error:
            session_id = _new_id(at)
            self._warn(
                f"sessions cannot be kept in {self.folder}: {error.strerror}; this one is not saved"
            )
            journal = Journal(session_id)
        told = {"cwd": str(cwd.resolve()), "model": model, "mode": str(mode), "pid": os.getpid()}
        told |= about or {}
        journal.append(
            "session.started", {**told, **({"forked_from": forked_from} if forked_from else {})}
        )
        return session_id, journal

    def list(self) -> Sequence[SessionSummary]:
        """Return all sessions, the last used first; reads the ends of each journal only."""
        found = (summary_of(self._path(name)) for name in self.ids())
        return sorted(
            (one for one in found if one is not None),
            key=lambda one: (one.updated, one.id),
            reverse=True,
        )

    def ids(self) -> Sequence[str]:
        """Return the IDs of all sessions, oldest first."""
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            return ()
        ids = (name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
        return sorted(one for one in ids if ID.fullmatch(one))

    def open(self, wanted: str, *, cwd: Path | None = None) -> tuple[Sequence[Record], Journal]:
        """Resume a session: its whole records, and its journal, which continues after them.

        *wanted* is an id, the unique beginning of one, or "last": the last one used in *cwd*. What
        a crash left behind the last whole record is cut off; the file as it was stays beside it as
        `.bak`.

        Raises: UsageError (session_not_found, session_in_use, session_unreadable).
        """
        found, journal = self._taken(self.find(wanted, cwd=cwd), self._after_the_newest())
        journal.append("session.resumed", {"pid": os.getpid()})
        return found.records, journal

    def rename(self, wanted: str, title: str, *, cwd: Path | None = None) -> str:
        """Give a session that nobody uses a name, and return its id; raises UsageError."""
        session_id = self.find(wanted, cwd=cwd)
        _, journal = self._taken(session_id)
        try:
            journal.rename(name_of(title))
        finally:
            journal.close()
        if journal.problem:
            raise _fault("session_unreadable", journal.problem)
        return session_id

    def records(self, session_id: str) -> Sequence[Record]:
        """Return the whole records of a session without taking it over; raises UsageError."""
        return read(self._path(session_id))

    def records_of_kind(
        self, session_id: str, kind: str, *, since: float = 0.0
    ) -> Iterator[Record | None]:
        """Yield a session's records of one kind since *since*, and None for each damaged line.

        Quick where few lines are of that kind. A journal that cannot be read has none.
        """
        for record in read_kind(self._path(session_id), kind, since):
            if record is None or record.at >= since:
                yield record

    def show(self, wanted: str, *, cwd: Path | None = None) -> Transcript:
        """Return a session's transcript, or a sub-agent's, without taking it over.

        Raises: UsageError.
        """
        path = self._path_within(wanted) or self._path(self.find(wanted, cwd=cwd))
        return repaired(read(path), path.with_suffix(""))

    def fork(self, wanted: str, *, cwd: Path | None = None) -> str:
        """Start a session with the messages of another, which may be in use; returns its ID.

        Raises: UsageError (session_not_found, session_unreadable), PersonError where nothing can be
        kept.
        """
        origin = self.find(wanted, cwd=cwd)
        path = self._path(origin)
        records = read(path)
        if not records:
            raise _empty(path)
        past = repaired(records, path.with_suffix(""))
        session_id, journal = self.create(
            Path(past.cwd) if cwd is None else cwd,
            past.model,
            past.mode,
            forked_from=origin,
            about={"title": past.title} if past.title else {},
        )
        for message in past.messages:
            journal.append("message", encode_message(message, journal.artifact))
        journal.close()
        if journal.path is None:
            raise PersonError("the new session could not be kept")
        return session_id

    def find(self, wanted: str, *, cwd: Path | None = None) -> str:
        """Return the id of the session that *wanted* means; raises UsageError."""
        if wanted == "last":
            return self._last(cwd)
        names = self.ids()
        found = (
            [wanted]
            if wanted in names
            else [name for name in names if wanted and name.startswith(wanted)]
        )
        if len(found) == 1:
            return found[0]
        if found:
            raise _fault(
                "session_not_found",
                f"{wanted!r} could be {' or '.join(found[:4])}; give more of the id",
            )
        raise _fault("session_not_found", f"there is no session {wanted!r}{_hint(wanted, names)}")

    def worked_in(self, cwd: Path) -> Iterator[SessionSummary]:
        """Yield the sessions of *cwd*, the last used first, without forks nobody went on with."""
        where = str(cwd.resolve())
        for summary in self.list():
            if summary.cwd == where and (not summary.forked_from or self._has_run(summary.id)):
                yield summary

    def remove(self, wanted: str) -> None:
        """Delete a session and its artifacts; raises UsageError also while somebody uses it."""
        path = self._path(self.find(wanted))
        try:
            descriptor = locked(path)
            try:
                _delete(path)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _fault("session_unreadable", f"{path}: {error.strerror}") from None

    def remove_old(self, keep_days: int) -> int:
        """Delete sessions that nobody used for *keep_days* days (0: keep all); returns how many."""
        if keep_days <= 0:
            return 0
        oldest = time.time() - keep_days * DAY_S
        removed = 0
        for name in self.ids():
            with suppress(OSError, UsageError):
                if self._path(name).lstat().st_mtime < oldest:
                    self.remove(name)
                    removed += 1
        return removed

    def _taken(self, session_id: str, not_before: float = 0.0) -> tuple[Scan, Journal]:
        """Lock and mend the journal of a session; returns what it has, and its continuation."""
        path = self._path(session_id)
        try:
            descriptor = locked(path)
        except OSError as error:
            raise _fault("session_unreadable", f"{path}: {error.strerror}") from None
        try:
            found = self._mended(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        warn = self._warn
        return found, Journal(
            session_id, path, descriptor, after=found, warn=warn, not_before=not_before
        )

    def _path_within(self, session_id: str) -> Path | None:
        """Return the journal of a sub-agent by its whole id; it lies with its session's files."""
        if not ID.fullmatch(session_id):
            return None
        return next(self.folder.glob(f"*/sessions/{session_id}.jsonl"), None)

    def _path(self, session_id: str) -> Path:
        return self.folder / f"{session_id}.jsonl"

    def _last(self, cwd: Path | None) -> str:
        where = str((cwd or Path.cwd()).resolve())
        for summary in self.list():
            # One without a prompt is a single call, or a run that found no model.
            if summary.cwd == where and summary.title:
                return summary.id
        raise _fault("session_not_found", f"there is no conversation in {where} yet")

    def _after_the_newest(self) -> float:
        """Return the time; if the clock was put back, a time after the newest session."""
        now = time.time()
        names = self.ids()
        if not names or not now < _time_of(names[-1]) < now + CLOCK_JUMP_S:
            return now
        newest = summary_of(self._path(names[-1]))
        return max(now, newest.updated + TICK_S) if newest else now

    def _has_run(self, session_id: str) -> bool:
        return any(one.kind in {"run.started", "call.started"} for one in self.records(session_id))

    def _new_file(self, at: float) -> tuple[str, int]:
        for _ in range(TRIES):
            session_id = _new_id(at)
            with suppress(FileExistsError):
                return session_id, locked(self._path(session_id), os.O_CREAT | os.O_EXCL)
        raise FileExistsError(0, "no free name for a session")

    def _mended(self, path: Path, descriptor: int) -> Scan:
        """Read a locked journal and cut off what is not whole, keeping a copy."""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            found = scan(file)
            if not found.records:
                raise _empty(path)
            if found.missing:
                self._warn(
                    f"session {path.stem}: {_numbered(found.missing)} damaged and skipped;"
                    " all others are intact"
                )
            if found.end == found.size:
                return found
            copy = path.with_suffix(".jsonl.bak")
            try:
                _copy(file, copy)
                os.ftruncate(descriptor, found.end)
            except OSError as error:
                raise _fault(
                    "session_unreadable",
                    f"{path} is damaged and cannot be repaired: {error.strerror}",
                ) from None
        lost = found.size - found.end
        self._warn(
            f"session {path.stem} ended in {lost:,} damaged bytes, which were"
            f" skipped; the original file is {copy}"
        )
        return found


def name_of(title: str) -> str:
    """Return *title* as the name of a session, on one line; raises UsageError when it is empty."""
    name = titled(title)
    if not name:
        raise UsageError("the new title is empty")
    return name


def _numbered(missing: Sequence[int]) -> str:
    if len(missing) == 1:
        return f"record {missing[0]} is"
    return f"{len(missing)} records ({missing[0]} to {missing[-1]}) are"


def _copy(file: BinaryIO, copy: Path) -> None:
    import shutil  # it brings compressors along, and damage is rare

    copy.unlink(missing_ok=True)
    descriptor = open_private(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as target:
        file.seek(0)
        shutil.copyfileobj(file, target)


def _delete(path: Path) -> None:
    import shutil  # it brings compressors along

    if not os.access(path.parent, os.W_OK):  # else the copies would go and the journal stay
        raise PermissionError(errno.EACCES, "its directory cannot be written")
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    path.with_suffix(".jsonl.bak").unlink(missing_ok=True)
    path.unlink()


def _new_id(at: float) -> str:
    random = "".join(ALPHABET[byte % len(ALPHABET)] for byte in os.urandom(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(at))}-{random}"


def _time_of(session_id: str) -> float:
    """Return when an id was made, 0 for none. strptime would import the calendar and its locale."""
    digits = session_id[:8] + session_id[9:15]
    if len(digits) != len("20261121224509") or not digits.isdecimal():
        return 0.0
    day = (int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    hour = (int(digits[8:10]), int(digits[10:12]), int(digits[12:14]))
    try:
        return time.mktime((*day, *hour, 0, 0, 0)) - time.timezone
    except (ValueError, OverflowError):
        return 0.0


def _fault(error_class: str, message: str) -> UsageError:
    error = UsageError(message)
    error.error_class = error_class
    return error


def _empty(path: Path) -> UsageError:
    return _fault("session_unreadable", f"{path}: there is no whole record in it")


def _hint(wanted: str, names: Sequence[str]) -> str:
    from nanocoder_schema import did_you_mean  # only mistakes need it

    return did_you_mean(wanted, names, "; `nanocoder sessions list` shows all")
