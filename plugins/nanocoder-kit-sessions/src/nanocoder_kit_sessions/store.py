"""All sessions of a user: making, finding, locking and resuming them."""

import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanocoder import ConfigError, Host, Journal, StoredSession, UsageError, state_dir
from nanocoder_files import open_private, private_directory, replace_file
from nanocoder_schema import did_you_mean, value

from nanocoder_kit_sessions.journal import FileJournal, RecordJournal, Warn, locked, transcript_of
from nanocoder_kit_sessions.order import UseOrder
from nanocoder_kit_sessions.records import Record, Scan, read, scan, title_of

if TYPE_CHECKING:
    from nanocoder_kit_sessions.transcript import Transcript

ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"
ID: Final = r"\d{8}-\d{6}-[a-z0-9]{4}"
TRIES: Final = 20
TRASH: Final = "trash"
RUNS: Final = ["run.started", "run.finished"]
HEAD_BYTES: Final = 16_384
TAIL_BYTES: Final = 8_192
LONG_TAIL_BYTES: Final = 1_048_576  # for journals that end in a large record
PROMPT: Final = rb'"(?:prompt|role":"user","(?:typed|text))":("(?:[^"\\]|\\.)*)'


@value
class SessionSummary:
    """One session; *started* and *updated* in seconds since the epoch, *size* in bytes.

    *title* is its name by the user, else the first words of *prompt*, which is its first prompt as
    far as it was read. *forked_from* is the id of the session whose messages it began with.
    *turns* is the number of the answers in the conversation: of one that *is_rewound* none may be
    left. *prompts* is the number of the typed prompts, counted likewise.
    """

    id: str
    started: float
    updated: float
    cwd: str
    model: str
    title: str
    turns: int
    size: int
    forked_from: str = ""
    prompt: str = ""
    is_rewound: bool = False
    prompts: int = 0

    @property
    def is_answered(self) -> bool:
        """Return True if a model has answered, even if the answers were rewound."""
        return bool(self.turns) or self.is_rewound


class SessionStore:
    """The sessions below *folder*; *warn* gets messages about failed writes and repairs."""

    def __init__(self, folder: Path, *, warn: Warn = lambda _message: None) -> None:
        self.folder = folder / "sessions"
        self.order = UseOrder(folder / "sessions.order")
        self._warn = warn

    @property
    def trash(self) -> "SessionStore":
        """The store of the sessions that were removed for their age, and can be restored."""
        return SessionStore(self.folder.parent / TRASH)

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
        self, cwd: Path, model: str = "", mode: str = "", *, origin: Mapping[str, str] | None = None
    ) -> tuple[str, RecordJournal]:
        """Start a session; if nothing can be written, only in memory, with a call of *warn*.

        *origin* is added to its first record.
        """
        journal = self.new_journal()
        start = {"cwd": str(cwd.resolve()), "model": model, "mode": str(mode), "pid": os.getpid()}
        journal.append("session.started", {**start, **(origin or {})})
        return journal.id, journal

    def start(
        self,
        cwd: Path,
        model: str,
        mode: str,
        *,
        origin: Mapping[str, str] | None = None,
        parent: Journal | None = None,
    ) -> Journal:
        """Start a session, of a sub-agent among the files of its *parent*'s."""
        store = self if parent is None else self.inside(parent)
        return store.create(cwd, model, mode, origin=origin)[1]

    def inside(self, parent: Journal) -> "SessionStore":
        """Return the store of the sub-agents of a session."""
        return SessionStore(parent.artifacts or Path(os.devnull))

    def resume(self, name: str, *, cwd: Path | None = None) -> StoredSession:
        """Take over the session that *name* means, with its transcript; raises UsageError."""
        records, journal = self.open(name, cwd=cwd)
        transcript = transcript_of(records, journal.artifacts)
        messages = tuple(transcript.messages)
        return StoredSession(journal, messages, transcript.model, transcript.cwd)

    def list(self) -> Sequence[SessionSummary]:
        """Return all sessions, the last used first; reads the ends of each journal only."""
        summaries = filter(None, (_summary_of(self.path(name)) for name in self.ids()))
        uses = self.order.last_uses()
        # The clock decides only between sessions that an earlier release made.
        keys = {it: (uses.get(it.id, -1), it.updated, it.id) for it in summaries}
        return sorted(keys, key=keys.__getitem__, reverse=True)

    def in_order_of_use(self) -> Sequence[str]:
        """Return the IDs of all sessions, the last used last."""
        uses = self.order.last_uses()
        return sorted(self.ids(), key=lambda session_id: uses.get(session_id, -1))

    def ids(self) -> Sequence[str]:
        """Return the IDs of all sessions, in the order of the times that they name."""
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            return ()
        ids = (name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
        return sorted(name for name in ids if re.fullmatch(ID, name))

    def path(self, session_id: str) -> Path:
        """Return the journal of a session, which need not be there."""
        return self.folder / f"{session_id}.jsonl"

    def find(self, name: str, *, cwd: Path | None = None) -> str:
        """Return the ID of the session that *name* means; raises UsageError (session_not_found).

        *name* is an ID, the unique beginning of one, or "last": the last one used in *cwd* in which
        a model has answered, or else the last one with a prompt.
        """
        if name == "last":
            return self._last(cwd)
        ids = self.ids()
        if name in ids:
            return name
        matches = [session_id for session_id in ids if name and session_id.startswith(name)]
        if len(matches) > 1:  # single calls are not listed
            summaries = map(_summary_of, map(self.path, matches))
            matches = [each.id for each in summaries if each and each.title] or matches
        if len(matches) == 1:
            return matches[0]
        if matches:
            choices = " or ".join(matches[:4])
            raise _not_found(f"{name!r} could be {choices}; give more of the id")
        hint = did_you_mean(name, ids, "; `nanocoder sessions list` shows all")
        raise _not_found(f"there is no session {name!r}{hint}")

    def open(self, name: str, *, cwd: Path | None = None) -> tuple[Sequence[Record], FileJournal]:
        """Resume the session *name*, as resolved by `find`: like `take`, with a record of it.

        Raises: UsageError (session_not_found, session_in_use, session_unreadable).
        """
        session_id = self.find(name, cwd=cwd)
        records, journal = self.take(session_id)
        journal.append("session.resumed", {"pid": os.getpid()})
        return records, journal

    def take(self, session_id: str) -> tuple[Sequence[Record], FileJournal]:
        """Take over a session: return its whole records, and its journal, to continue after them.

        Anything that a crash left behind the last whole record is cut off; the file as it was stays
        beside it as `.bak`. Raises: UsageError (session_in_use, session_unreadable).
        """
        descriptor, path = self.lock(session_id), self.path(session_id)
        try:
            scanned = self._repair(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        journal = FileJournal(path, descriptor, after=scanned, warn=self._warn, order=self.order)
        return scanned.records, journal

    def lock(self, session_id: str) -> int:
        """Lock a session for this process until the returned file descriptor is closed.

        Raises: UsageError (session_in_use, session_unreadable).
        """
        path = self.path(session_id)
        try:
            return locked(path)
        except OSError as error:
            raise _unreadable(f"{path}: {error.strerror}") from None

    def records(self, session_id: str) -> Sequence[Record]:
        """Return the intact records of a session without locking it; raises UsageError."""
        return read(self.path(session_id))

    def transcript(self, session_id: str, *, before: float = math.inf) -> "Transcript":
        """Return the transcript of a session without locking it; raises UsageError.

        Only records with a number less than *before* are used.
        """
        records = filter(lambda record: record.seq < before, self.records(session_id))
        return transcript_of(records, self.path(session_id).with_suffix(""))

    def _last(self, cwd: Path | None) -> str:
        directory = str((cwd or Path.cwd()).resolve())
        here = [summary for summary in self.list() if summary.cwd == directory]
        # A session without a prompt is a single call. One without an answer is not listed; it is
        # found after a kill, or if it is the only one, so that its prompt is not lost.
        begun = [summary for summary in here if summary.title]
        ids = (it.id for it in begun if it.is_answered or self._was_killed(it.id))
        if latest := next(ids, begun[0].id if begun else ""):
            return latest
        raise _not_found(f"there is no conversation in {directory} yet")

    def _was_killed(self, session_id: str) -> bool:
        """Return True if the last run of a session was killed."""
        with suppress(UsageError):
            os.close(self.lock(session_id))
            kinds = [record.kind for record in self.records(session_id) if record.kind in RUNS]
            return kinds[-1:] == RUNS[:1]
        return False

    def new_journal(self) -> RecordJournal:
        """Create the journal of a new session; in memory if the folder is not writable."""
        at = time.time()
        try:
            private_directory(self.folder)
            session_id, descriptor = self._new_file(at)
        except OSError as error:
            from nanocoder_kit_sessions.memory import MemoryJournal  # mostly there is a disk

            self._warn(
                f"sessions cannot be kept in {self.folder}: {error.strerror}; this one is not saved"
            )
            return MemoryJournal(new_id(at))
        path = self.path(session_id)
        return FileJournal(path, descriptor, warn=self._warn, order=self.order)

    def _new_file(self, at: float) -> tuple[str, int]:
        for _ in range(TRIES):
            session_id = new_id(at)
            with suppress(FileExistsError):
                return session_id, locked(self.path(session_id), os.O_CREAT | os.O_EXCL)
        raise FileExistsError(0, "no free name for a session")

    def _repair(self, path: Path, descriptor: int) -> Scan:
        """Scan a locked journal, and cut off a damaged end after copying the file."""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            scanned = scan(file)
            if not scanned.records:
                raise _unreadable(f"{path}: it has no intact record")
            if scanned.missing:
                self._warn(
                    f"session {path.stem}: {_numbered(scanned.missing)} damaged and skipped;"
                    " all others are intact"
                )
            if scanned.end == scanned.size:
                return scanned
            copy = path.with_suffix(".jsonl.bak")
            try:
                file.seek(0)
                replace_file(copy, file.read())
                os.ftruncate(descriptor, scanned.end)
            except OSError as error:
                problem = f"{path} is damaged and cannot be repaired: {error.strerror}"
                raise _unreadable(problem) from None
        lost = scanned.size - scanned.end
        self._warn(
            f"session {path.stem} ended in {lost:,} damaged bytes, which were"
            f" skipped; the original file is {copy}"
        )
        return scanned


def open_user_store(environment: Mapping[str, str], _settings: object, warn: Warn) -> SessionStore:
    """Open the store in the user's state directory, as plugins offer it."""
    return SessionStore.of_user(environment, warn=warn)


def session_store(host: Host) -> SessionStore:
    """Return the user's sessions; raises UsageError if their store is no SessionStore."""
    sessions = host.sessions
    if isinstance(sessions, SessionStore):
        return sessions
    origin = host.config.where("store")
    raise UsageError(
        f"the session store {host.config.core.store!r} ({origin}) cannot do this: it only starts,"
        " finds and resumes sessions"
    )


def _numbered(missing: Sequence[int]) -> str:
    if len(missing) == 1:
        return f"record {missing[0]} is"
    return f"{len(missing)} records ({missing[0]} to {missing[-1]}) are"


def new_id(at: float) -> str:
    """Return an id for a session that starts *at*, in seconds since the epoch."""
    random = "".join(ALPHABET[byte % len(ALPHABET)] for byte in os.urandom(4))
    return f"{_timestamp(at)}-{random}"


def _timestamp(at: float) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))


def _not_found(message: str) -> UsageError:
    return UsageError(message, error_class="session_not_found")


def _unreadable(message: str) -> UsageError:
    return UsageError(message, error_class="session_unreadable")


def _summary_of(path: Path) -> SessionSummary | None:
    """Summarise the journal at *path*; None when it is no journal, whatever else it is."""
    try:
        with os.fdopen(open_private(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = os.pread(file.fileno(), HEAD_BYTES, 0)
            first = Record.of_line(head[: head.find(b"\n") + 1])
            last = first and _last(file.fileno(), size)
    except OSError:
        return None
    if first is None:
        return None
    last, prompt = last or first, _prompt(head)
    cwd, model, forked_from, title = (
        str(first.data.get(name, "")) for name in ("cwd", "model", "forked_from", "title")
    )
    title = last.title or title or title_of(prompt)
    begun = (path.stem, first.at, last.at, cwd, model, title)
    prompts = _counted_prompts(path) if last.prompts is None else last.prompts
    return SessionSummary(*begun, last.turn, size, forked_from, prompt, last.is_rewound, prompts)


def _counted_prompts(path: Path) -> int:
    """Count the prompts in a journal of an earlier release, whose records do not."""
    from nanocoder_kit_sessions.prompts import prompts_of  # newer journals do not need it

    try:
        return len(prompts_of(read(path)))
    except UsageError:
        return 0


def _last(descriptor: int, size: int) -> Record | None:
    """Return the last whole record."""
    for length in (TAIL_BYTES, LONG_TAIL_BYTES):
        tail = os.pread(descriptor, length, max(0, size - length))
        for line in reversed(tail.splitlines(keepends=True)):
            if (record := Record.of_line(line)) is not None:
                return record
        if length >= size:
            break
    return None


def _prompt(head: bytes) -> str:
    """Return the first prompt, or its beginning when it is longer than *head*."""
    return next(
        filter(None, (_beginning(match.group(1)) for match in re.finditer(PROMPT, head))), ""
    )


def _beginning(text: bytes) -> str:
    # A prompt that was cut may end within an escape or a character.
    for cut in range(len(text), max(1, len(text) - 12), -1):
        try:
            prompt = json.loads(text[:cut] + b'"')
        except ValueError:
            continue
        return str(prompt).encode("utf-8", "replace").decode()
    return ""
