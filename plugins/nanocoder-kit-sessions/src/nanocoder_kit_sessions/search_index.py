"""The search index of all sessions, derived from their journals.

It is a file beside them, updated whenever it is opened, and rebuilt if it is missing, damaged, or
of another version. One process at a time uses it.
"""

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import fields, frozen
from nanocoder import PersonError
from nanocoder_files import holding, open_private, private_directory

from nanocoder_kit_sessions.journal_text import JournalText, SessionFacts, read_journal_text
from nanocoder_kit_sessions.records import FAR_S
from nanocoder_kit_sessions.store import SessionStore
from nanocoder_kit_sessions.work import index_path

VERSION: Final = 2
ROOM: Final = 1 << 20
"""Rows reserved for a session in the table of passages, from ROOM times its number on."""
BATCH: Final = 200
"""Journals per transaction: a first build that is killed resumes after the last one."""
MANY: Final = 500
BEFORE_CHARS, AFTER_CHARS = 60, 240
MATCHING: Final = "SELECT rowid, rank FROM passages WHERE passages MATCH ?"
CONTAINING: Final = "SELECT number, 0 FROM texts WHERE "
CONTAINS: Final = "contains(text, ?)"
PASSAGE: Final = "SELECT text, role, prompt, at FROM texts WHERE number = ?"
TEXTS: Final = "SELECT number, text FROM texts WHERE number BETWEEN ? AND ?"
FORGET: Final = "INSERT INTO passages (passages, rowid, text) VALUES ('delete', ?, ?)"
FACTS: Final[Mapping[str, Any]] = {
    fact.name: fact.type for fact in fields(SessionFacts) if fact.name != "tags"
}
"""The columns of the table of sessions, and the type of each; a new one needs a new VERSION."""
MAX_NUMBER: Final = (1 << 63) // ROOM - 1
"""Largest number of a session whose row numbers fit into sqlite's integers."""
DAMAGED: Final = "it holds a damaged row"
TABLES: Final = f"""
CREATE TABLE sessions (number INTEGER PRIMARY KEY, id TEXT UNIQUE, size INTEGER, changed INTEGER,
    tags TEXT, {", ".join(FACTS)});
CREATE VIRTUAL TABLE passages USING fts5(text, content = "",
    tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE texts (number INTEGER PRIMARY KEY, text BLOB, role TEXT, prompt INTEGER, at REAL);
PRAGMA user_version = {VERSION};
"""
Result = TypeVar("Result")


@frozen(kw_only=True)
class IndexedSession(SessionFacts):
    """Metadata of a session in the index."""

    id: str


@frozen
class Match:
    """The best passage of a session; *role*, *prompt* and *at* are those of `Passage`."""

    session: IndexedSession
    role: str
    prompt: int
    at: float
    passage: str


@contextmanager
def open_index(
    store: SessionStore, say: Callable[[str], object] = lambda _line: None
) -> "Iterator[SearchIndex]":
    """Update and yield the index; *say* gets a message if that takes long. Raises: PersonError.

    Other processes wait until it is closed.
    """
    path = index_path(store)
    if store.folder.parent == Path(os.devnull):
        raise PersonError("sessions are only in memory here, so there is nothing to search")
    try:
        private_directory(path.parent)
        with (
            holding(path.with_name("lock")),
            closing(SearchIndex(path, store, say)) as index,
        ):
            yield index
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise PersonError(f"the index of sessions in {path} cannot be used: {reason}") from error


class SearchIndex:
    """Finds sessions; made by `open_index`.

    A damaged index, detected on opening or later, is rebuilt, but only once.
    """

    def __init__(self, path: Path, store: SessionStore, say: Callable[[str], object]) -> None:
        self._path, self._store, self._say = path, store, say
        self._is_anew = False
        try:
            self._connection = _current(path, store, say)
        except sqlite3.Error:
            self._make_anew()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def sessions(self) -> Mapping[str, IndexedSession]:
        """Return all sessions by their IDs. Raises: sqlite3.Error."""
        return {session.id: session for session in self._read(self._sessions).values()}

    def search(
        self, words: Sequence[str], fits: Callable[[IndexedSession], bool], limit: int
    ) -> list[Match]:
        """Return the best passage of each session that has all *words* in one, the newest first.

        A word matches as a prefix, and if that finds nothing, as a substring. Sessions that do not
        pass *fits* are left out. Raises: sqlite3.Error.
        """
        return self._read(lambda: self._search(words, fits, limit))

    def _read(self, read: Callable[[], Result]) -> Result:
        try:
            return read()
        except sqlite3.Error:
            if self._is_anew:
                raise
        self.close()
        self._make_anew()
        return read()

    def _make_anew(self) -> None:
        self._is_anew = True
        _discard(self._path)
        self._connection = _current(self._path, self._store, self._say)

    def _search(
        self, words: Sequence[str], fits: Callable[[IndexedSession], bool], limit: int
    ) -> list[Match]:
        words = [word.encode("utf-8", "replace").decode() for word in words]
        sessions = {number: each for number, each in self._sessions().items() if fits(each)}
        query = " AND ".join('"{}"*'.format(word.replace('"', '""')) for word in words)
        best = self._best(MATCHING, [query], sessions)
        if not best:
            conditions = " AND ".join([CONTAINS] * len(words))
            parts = [word.casefold() for word in words]
            best = self._best(CONTAINING + conditions, parts, sessions)
        newest = sorted(best, key=lambda row: sessions[row // ROOM].updated, reverse=True)
        return [self._match(sessions[row // ROOM], row, words) for row in newest[:limit]]

    def _best(
        self, select: str, values: Sequence[str], sessions: Mapping[int, IndexedSession]
    ) -> list[int]:
        """Return the row of the best passage of each of *sessions*; a small rank is a good one."""
        best: dict[int, tuple[float, int]] = {}
        for row, rank in self._connection.execute(select, values):
            number = row // ROOM
            if number in sessions and (number not in best or rank < best[number][0]):
                best[number] = (rank, row)
        return [row for _, row in best.values()]

    def _match(self, session: IndexedSession, row: int, words: Sequence[str]) -> Match:
        columns: Sequence[Any] = self._connection.execute(PASSAGE, [row]).fetchone() or ()
        if [*map(type, columns)] != [bytes, str, int, float]:
            raise sqlite3.DatabaseError(DAMAGED)
        packed, role, prompt, at = columns
        return Match(session, role, prompt, at, _around(_unpacked(packed), words[0]))

    def _sessions(self) -> dict[int, IndexedSession]:
        columns = ", ".join(("number", "id", "tags", *FACTS))
        rows = self._connection.execute(f"SELECT {columns} FROM sessions")  # noqa: S608 - our own names
        return {number: _session(*columns) for number, *columns in rows}


def _session(session_id: Any, tags: Any, *facts: Any) -> IndexedSession:
    """Return the session of a row. Raises: sqlite3.DatabaseError for one that was never written."""
    try:
        names = json.loads(tags)
    except (TypeError, ValueError, RecursionError):
        raise sqlite3.DatabaseError(DAMAGED) from None
    are_tags = isinstance(names, list) and all(isinstance(name, str) for name in names)
    are_facts = [*map(type, facts)] == [*FACTS.values()]
    are_times = all(0.0 <= fact < FAR_S for fact in facts if isinstance(fact, float))
    if not (isinstance(session_id, str) and are_tags and are_facts and are_times):
        raise sqlite3.DatabaseError(DAMAGED)
    named = dict(zip(FACTS, facts, strict=True))
    return IndexedSession(id=session_id, tags=tuple(names), **named)


def _current(path: Path, store: SessionStore, say: Callable[[str], object]) -> sqlite3.Connection:
    """Open the index and read the journals that have changed since."""
    os.close(_opened(path))
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            connection.close()
            _discard(path)
            os.close(_opened(path))
            connection = sqlite3.connect(path, isolation_level=None)
            connection.executescript(TABLES)
        connection.create_function("contains", 2, _contains, deterministic=True)
        _update(connection, store, say)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path) -> int:
    """Open or create the file, readable only by its owner, and return the descriptor."""
    try:
        return open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError:  # the path is a link or a special file
        path.unlink()
        return open_private(path, os.O_RDWR | os.O_CREAT)


def _discard(path: Path) -> None:
    for name in (path, path.with_name(f"{path.name}-journal")):
        with suppress(FileNotFoundError):
            name.unlink()


def _update(
    connection: sqlite3.Connection, store: SessionStore, say: Callable[[str], object]
) -> None:
    rows = connection.execute("SELECT id, number, size, changed FROM sessions").fetchall()
    entries = {row[0]: row[1:] for row in rows}
    if not all(isinstance(row[1], int) and 0 < row[1] <= MAX_NUMBER for row in rows):
        raise sqlite3.DatabaseError(DAMAGED)
    journals = {session_id: _signature(store.path(session_id)) for session_id in store.ids()}
    stale = [name for name, signature in journals.items() if entries.get(name, ())[1:] != signature]
    deleted = [number for name, (number, *_) in entries.items() if name not in journals]
    if len(stale) >= MANY:
        say(f"reading {len(stale):,} sessions for the first search; this takes a moment")
    with _transaction(connection):
        _delete_rows(connection, deleted)
    for start in range(0, len(stale), BATCH):
        with _transaction(connection):
            for session_id in stale[start : start + BATCH]:
                number = entries.get(session_id, (None,))[0]
                # A forged journal may hold numbers and texts that sqlite cannot store.
                with suppress(OSError, OverflowError, UnicodeError):
                    text = read_journal_text(store.path(session_id)) or JournalText()
                    _insert_rows(connection, number, session_id, journals[session_id], text)


def _signature(path: Path) -> tuple[int, int]:
    """Return the size and modification time, by which the index detects a changed journal."""
    try:
        status = path.lstat()
    except OSError:
        return (0, 0)
    return status.st_size, status.st_mtime_ns


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def _delete_rows(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    for number in numbers:
        rows = number * ROOM, (number + 1) * ROOM - 1
        texts = connection.execute(TEXTS, rows).fetchall()
        # The index of words is contentless: a delete needs the words of the passage.
        unpacked = ((row, _unpacked(packed)) for row, packed in texts)
        connection.executemany(FORGET, unpacked)
        connection.execute("DELETE FROM texts WHERE number BETWEEN ? AND ?", rows)
        connection.execute("DELETE FROM sessions WHERE number = ?", (number,))


def _insert_rows(
    connection: sqlite3.Connection,
    number: int | None,
    session_id: str,
    signature: tuple[int, int],
    text: JournalText,
) -> None:
    if number is not None:
        _delete_rows(connection, [number])
    values: list[Any] = [number, session_id, *signature, json.dumps(list(text.tags))]
    values += [getattr(text, name) for name in FACTS]
    placeholders = ", ".join("?" * len(values))
    inserted = connection.execute(f"INSERT INTO sessions VALUES ({placeholders})", values)  # noqa: S608
    first = (inserted.lastrowid or 0) * ROOM
    passages = [*enumerate(text.passages[: ROOM - 1], first)]
    words = ((number, each.text) for number, each in passages)
    connection.executemany("INSERT INTO passages (rowid, text) VALUES (?, ?)", words)
    rows = (
        (number, zlib.compress(each.text.encode()), each.role, each.prompt, each.at)
        for number, each in passages
    )
    connection.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", rows)


def _unpacked(packed: Any) -> str:
    """Return the text of a row. Raises: sqlite3.DatabaseError for one that was never written."""
    try:
        return zlib.decompress(packed).decode()
    except (TypeError, ValueError, zlib.error):
        raise sqlite3.DatabaseError(DAMAGED) from None


def _contains(packed: Any, part: str) -> bool:
    return part in _unpacked(packed).casefold()


def _around(text: str, word: str) -> str:
    """Return the part of *text* around *word*, where it begins a word if it does anywhere."""
    begins = re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE)
    offset = begins.start() if begins is not None else text.casefold().find(word.casefold())
    start = max(0, offset - BEFORE_CHARS)
    end = max(0, offset) + AFTER_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
