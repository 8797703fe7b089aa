"""The chain: one JSON object a line, each with the hash of the line before it and of itself.

A line is `{"seq":1,"at":"…","prev":"…", …,"hash":"…"}`. *hash* is the SHA-256 of the bytes before
`,"hash"`; *prev* is the hash of the line before, zeros in the first. So a changed byte, or a
removed, added or moved line breaks the chain at that line.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

from attrs import frozen
from nanocoder import counted
from nanocoder_files import open_private

FIRST: Final = "0" * 64
SEAL: Final = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n')
SEAL_BYTES: Final = len(b',"hash":""}\n') + 64
MAX_LINE_BYTES: Final = 1_000_000
FIELD_CHARS: Final = 8_000
"""Longer values are cut off: a model chooses the id of its call, and a line has a limit."""
GAP: Final = "gap"
MISSING: Final = "missing"


@frozen
class Link:
    """The end of a chain: the number of its last record, and that record's hash."""

    seq: int = 0
    hash: str = FIRST


@frozen
class Problem:
    """A problem of a log in a sentence; *line* counts from 1, 0 for none."""

    line: int
    text: str


def seal(after: Link, at: str, fields: Mapping[str, Any]) -> tuple[bytes, Link]:
    """Return the line of the record with *fields* that follows *after*, and its link."""
    fields = {name: _cut(content) for name, content in fields.items()}
    record = {"seq": after.seq + 1, "at": at, "prev": after.hash, **fields}
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":"))[:-1]
    sealed = body.encode("utf-8", "backslashreplace")
    digest = sha256(sealed).hexdigest()
    return sealed + f',"hash":"{digest}"}}\n'.encode(), Link(after.seq + 1, digest)


def _cut(content: object) -> object:
    """Return *content*, or if it is too long its beginning and the digest of all of it."""
    if content is None or isinstance(content, bool | int | float):
        return content
    text = content if isinstance(content, str) else json.dumps(content)
    if len(text) <= FIELD_CHARS:
        return content
    digest = sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{text[:FIELD_CHARS]}… [{len(text)} characters, SHA-256 {digest}]"


def link_of(line: bytes) -> Link | None:
    """Return the link of a whole line whose hash is its own, else None."""
    match = SEAL.fullmatch(line[-SEAL_BYTES:])
    if match is None or sha256(line[:-SEAL_BYTES]).hexdigest() != match[1].decode():
        return None
    try:
        seq = json.loads(line)["seq"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Link(seq, match[1].decode()) if type(seq) is int else None


@frozen
class LogFile:
    """An open file of a log, of which only the first *size* bytes are read."""

    path: Path
    _file: BinaryIO
    size: int

    def lines(self) -> Iterator[bytes]:
        """Yield the lines; an overlong one comes in invalid pieces."""
        self._file.seek(0)
        while line := self._file.readline(min(MAX_LINE_BYTES, self.size - self._file.tell())):
            yield line

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records that are whole."""
        return (json.loads(line) for line in self.lines() if link_of(line) is not None)

    def content(self) -> bytes:
        """Return all of it."""
        self._file.seek(0)
        return self._file.read(self.size)


def open_log_file(path: Path) -> BinaryIO:
    """Open a file of a log to read it; raises OSError, also for a pipe, a folder or a link."""
    return os.fdopen(open_private(path), "rb")


def records_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of the file at *path* that are whole; raises OSError."""
    with open_log_file(path) as file:
        yield from LogFile(path, file, os.fstat(file.fileno()).st_size).records()


def before_first(lines: Iterator[bytes]) -> Link:
    """Return the link that the first of *lines* follows."""
    line = next(lines, b"")
    link = link_of(line)
    return Link() if link is None else Link(link.seq - 1, str(json.loads(line).get("prev", "")))


class Chain:
    """The check of a log over its consecutive files; *count* is the number of its records.

    *head* is the separately stored end of the log, *anchor* a hash that has to occur in it.
    """

    def __init__(self, head: Link | None, anchor: str = "") -> None:
        self.head = head
        self.count = 0
        self._anchor = anchor
        self._damaged = 0
        self._hashes = {FIRST}
        self.begin_after(Link())

    def begin_after(self, link: Link) -> None:
        """Expect a first record that follows *link*: that of a file in the middle of a log."""
        self._link = link
        self._hashes.add(link.hash)
        self._head_seen = self.head is None or self.head == link

    def problems_of(self, lines: Iterable[bytes]) -> Iterator[Problem]:
        """Yield the problems of the lines of the next file, in order."""
        for line_number, line in enumerate(lines, 1):
            link = link_of(line)
            if link is None:
                yield Problem(line_number, _damage(line))
                self._damaged += 1
                continue
            record = json.loads(line)
            if self._damaged:  # those lines were reported; this record follows them
                self._link = Link(self._link.seq + self._damaged, record.get("prev", ""))
                self._damaged = 0
            if record.get("prev") != self._link.hash or link.seq != self._link.seq + 1:
                yield Problem(line_number, _break(self._link, link))
            yield from _gaps(line_number, record)
            self._link = link
            self.count += 1
            self._hashes.add(link.hash)
            self._head_seen = self._head_seen or link == self.head

    def problems_at_end(self) -> Iterator[Problem]:
        """Yield the problems of missing records after the last file."""
        if self.head is not None and not self._head_seen:
            expected = f"it should hold {_named(self.head)}"
            yield Problem(0, f"the log ends with record {self._link.seq}; {expected}")
        if self._anchor and self._anchor not in self._hashes:
            yield Problem(0, f"no record has the hash {self._anchor}")


def problems_of(lines: Iterable[bytes], head: Link | None, anchor: str = "") -> Iterator[Problem]:
    """Yield the problems of a log of one file, in order; see `Chain`."""
    chain = Chain(head, anchor)
    yield from chain.problems_of(lines)
    yield from chain.problems_at_end()


def _damage(line: bytes) -> str:
    if not line.endswith(b"\n"):
        return "the line is cut off: a record was being written when its process ended"
    return "the line was changed: its hash is not that of its bytes"


def _break(before: Link, link: Link) -> str:
    if link.seq > before.seq + 1:
        missing = f"{counted(link.seq - before.seq - 1, 'record')} before record {link.seq}"
        return f"{missing} cannot be found"
    return f"record {link.seq} does not follow record {before.seq}: a line was moved or replaced"


def _gaps(line_number: int, record: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the gap that an earlier start recorded; torn bytes are no problem."""
    if record.get("event") != GAP:
        return
    if record.get("missing"):
        yield Problem(line_number, f"{record['missing']} records were missing before this one")
    elif record.get("expected"):
        text = "a record before this one was replaced: the one that the head named is not there"
        yield Problem(line_number, text)
    if record.get("head") == MISSING:
        yield Problem(line_number, "records may be missing before this one: the head was removed")


def _named(link: Link) -> str:
    return f"record {link.seq} ({link.hash[:12]}…)"
