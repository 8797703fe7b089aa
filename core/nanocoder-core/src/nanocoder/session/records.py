"""Records and their lines. One line is one record with a checksum over the bytes before it.

A reader takes every line that is whole: each has its own checksum and its number, so that a damaged
line loses itself alone. A line with a number that was passed already is none of the journal's.
"""

import errno
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from attrs import frozen
from nanocoder_files import open_private
from nanocoder_schema import Shown, Value

from nanocoder.errors import UsageError

MAX_LINE_BYTES: Final = 268_435_456
MAX_MISSING: Final = 100_000
"""A number further ahead is no record of this journal."""
BOM: Final = b"\xef\xbb\xbf"
ESCAPED_SURROGATE: Final = b"\\ud"
FAR_S: Final = 253_402_300_800.0
"""The year 10000: a time from there on cannot be shown."""
SEAL: Final = b',"crc":"%08x"}\n'
SEAL_BYTES: Final = len(SEAL % 0)


@frozen(eq=False, repr=False)
class Record(Value):
    """One record.

    *seq* counts from 1, *at* is seconds since the epoch and never falls within a session.
    *turn* is the number of the model's answers so far, this record included. *title* is the name
    that a person gave the session, in each record from then on: a list reads the last one only.
    """

    seq: int
    kind: str
    at: float
    data: Mapping[str, Any]
    turn: int = 0
    title: str = ""


@frozen(eq=False, repr=False)
class Scan(Shown):
    """The whole records of a file, the offset where they end, and the size of the file in bytes.

    *missing* are the numbers of records before the last whole one that are damaged or gone.
    """

    records: list[Record]
    end: int
    size: int
    missing: list[int]


def read(path: Path) -> list[Record]:
    """Return the whole records of a journal; raises UsageError if it is no file."""
    try:
        descriptor = open_private(path)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise UsageError(f"{path}: this is not a regular file, so it is no journal") from None
        raise UsageError(f"{path}: the journal cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        return scan(file).records


def read_kind(path: Path, kind: str, since: float = 0.0) -> Iterator[Record | None]:
    """Yield the records of one kind, and None for each damaged line.

    Lines of other kinds are not decoded. A file that is no journal has none; neither has one
    that was not written to since *since*.
    """
    begins = re.compile(rb'^.{0,64}"kind":"%s"' % re.escape(kind.encode()))
    try:
        descriptor = open_private(path)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mtime < since:
            return
        while line := file.readline(MAX_LINE_BYTES):
            if begins.match(line):
                yield decode(line)
            elif line[-SEAL_BYTES:] != SEAL % zlib.crc32(line[:-SEAL_BYTES]):
                yield None


def scan(file: BinaryIO) -> Scan:
    """Read whole records from the start of *file*."""
    records: list[Record] = []
    missing: list[int] = []
    end = at = last = 0
    file.seek(0)
    while line := file.readline(MAX_LINE_BYTES):
        record = decode(line.removeprefix(BOM) if at == 0 else line)
        at += len(line)
        if record is None or not last < record.seq <= last + MAX_MISSING:
            continue
        missing += range(last + 1, record.seq)
        records.append(record)
        end, last = at, record.seq
    return Scan(records, end, os.fstat(file.fileno()).st_size, missing)


def encode(record: Record) -> bytes:
    """Return a record's line, ending in a line feed."""
    whole: dict[str, Any] = {
        "seq": record.seq,
        "kind": record.kind,
        "at": record.at,
        "turn": record.turn,
    }
    whole |= {"title": record.title} if record.title else {}
    body = _json({**whole, "data": record.data}, whole)[:-1]
    return body + SEAL % zlib.crc32(body)


def decode(line: bytes) -> Record | None:
    """Return the record of one line, None when the line is torn or damaged."""
    body, seal = line[:-SEAL_BYTES], line[-SEAL_BYTES:]
    if not body or seal != SEAL % zlib.crc32(body):
        return None
    try:
        found = json.loads(body + b"}")
        return _record(_valid(found) if ESCAPED_SURROGATE in body else found)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _valid(found: Any) -> Any:
    """Replace halves of surrogate pairs by "?": no request that holds one could be sent."""
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _record(found: Any) -> Record:
    seq, kind, at, data = found["seq"], found["kind"], found["at"], found["data"]
    turn = found.get("turn", 0)
    if not (isinstance(seq, int) and isinstance(kind, str) and isinstance(data, dict)):
        raise TypeError(kind)
    if not 0.0 <= at < FAR_S:
        raise ValueError(at)
    return Record(seq, kind, float(at), data, int(turn), str(found.get("title", "")))


def _json(value: Mapping[str, Any], without_data: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, from a file name or a model: escaped, it stays valid UTF-8.
        return json.dumps(value, separators=(",", ":"), default=str).encode()
    except (TypeError, ValueError, RecursionError) as error:
        # A tool's data can hold anything; a record without it beats a session without a journal.
        problem = f"{type(error).__name__}: {error}"
        lost = {**without_data, "data": {"unwritable": problem}}
        return json.dumps(lost, separators=(",", ":")).encode()
