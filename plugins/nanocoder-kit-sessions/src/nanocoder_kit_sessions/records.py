"""Records: the entries of a journal, one line each.

Each line ends in a checksum over the bytes before it. A reader accepts every intact line: each has
its own checksum and number, so that a damaged line loses only itself. A line with a number that
was already read is not part of the journal.

Kinds of records: `session.started`, `session.resumed`, `session.changed` (new model, mode, cwd or
title), `message`, `call.started` (before the call runs), `call.finished`, `file.changed` (before
a file is changed), `undo.started` and `undo.finished` (the reverted changes),
`transcript.compacted` (its messages replace those before), `transcript.rewound` (removes the
records since number `from` from the transcript), `session.finished`, and any event.
Readers preserve unknown kinds.
"""

import errno
import json
import os
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from nanocoder import UsageError
from nanocoder_files import open_private
from nanocoder_schema import value

MAX_LINE_BYTES: Final = 268_435_456
MAX_MISSING: Final = 100_000
"""A number further ahead is no record of this journal."""
BOM: Final = b"\xef\xbb\xbf"
ESCAPED_SURROGATE: Final = rb"\\u[dD][89a-fA-F]"
FAR_S: Final = 253_402_300_800.0
"""The year 10000: a time from there on cannot be shown."""
TITLE_CHARS: Final = 80
PIECE: Final = 1 << 16
"""Characters of a text that are encoded at once."""
SEAL: Final = b',"crc":"%08x"}\n'
SEAL_BYTES: Final = len(SEAL % 0)


@value
class Record:
    """One record.

    *seq* counts from 1, *at* is seconds since the epoch and never falls within a session.
    *turn* is the number of the model's answers so far, this record included. *title* is the
    session's name by the user, in each record from then on: a list reads only the last one.
    After a rewind *turn* is the number of the remaining answers, and *is_rewound* is true.
    *prompts* is the number of the user's prompts, counted like *turn*; None: an earlier release
    did not count them.
    """

    seq: int
    kind: str
    at: float
    data: Mapping[str, Any]
    turn: int = 0
    title: str = ""
    is_rewound: bool = False
    prompts: int | None = None

    def line(self, encode: Callable[[Any], str] | None = None) -> bytearray:
        """Return the record as a line of a journal, with a line feed.

        *encode* encodes all but the `long_texts` as JSON, and may raise errors of its own.
        """
        head: dict[str, Any] = {
            "seq": self.seq,
            "kind": self.kind,
            "at": self.at,
            "turn": self.turn,
        }
        head |= {"prompts": self.prompts} if self.prompts is not None else {}
        head |= {"title": self.title} if self.title else {}
        head |= {"rewound": True} if self.is_rewound else {}
        body = _json(head, self.data, encode or _dumps)
        del body[-1:]  # the brace: the checksum is the last field
        body += SEAL % zlib.crc32(body)
        return body

    @classmethod
    def of_line(cls, line: bytes) -> "Record | None":
        """Return the record of one line of a journal, None when it is torn or damaged."""
        if not cls.is_intact(line):
            return None
        body = line[:-SEAL_BYTES]
        try:
            fields = json.loads(body + b"}")
            return _record(_valid(fields) if re.search(ESCAPED_SURROGATE, body) else fields)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None

    @staticmethod
    def is_intact(line: bytes) -> bool:
        """Return True if a line of a journal is as it was written."""
        return line[-SEAL_BYTES:] == SEAL % zlib.crc32(line[:-SEAL_BYTES])


def is_typed(data: Mapping[str, Any]) -> bool:
    """Return True if the data of a message has anything that a person typed."""
    return data.get("role") == "user" and bool(data.get("typed", data.get("text")))


@value(eq=False)
class Scan:
    """The intact records of a file, the offset of their end, and the size of the file in bytes.

    *missing* are the numbers of damaged or missing records before the last intact one.
    """

    records: list[Record]
    end: int
    size: int
    missing: list[int]


def title_of(text: str) -> str:
    """Return the first words of *text*, in one line."""
    line = " ".join(text[: 4 * TITLE_CHARS].split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "…"


def read(path: Path) -> list[Record]:
    """Return the intact records of a journal; raises UsageError if it is no file."""
    try:
        descriptor = open_private(path)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise UsageError(f"{path}: this is not a regular file, so it is no journal") from None
        raise UsageError(f"{path}: the journal cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        return scan(file).records


def scan(file: BinaryIO) -> Scan:
    """Read whole records from the start of *file*."""
    records: list[Record] = []
    missing: list[int] = []
    end = at = last = 0
    file.seek(0)
    while line := file.readline(MAX_LINE_BYTES):
        record = Record.of_line(line.removeprefix(BOM) if at == 0 else line)
        at += len(line)
        if record is None or not last < record.seq <= last + MAX_MISSING:
            continue
        missing += range(last + 1, record.seq)
        records.append(record)
        end, last = at, record.seq
    return Scan(records, end, os.fstat(file.fileno()).st_size, missing)


def _valid(fields: Any) -> Any:
    """Replace lone surrogates by "?": no request that contains one could be sent."""
    return json.loads(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))


def _record(fields: Any) -> Record:
    seq, kind, at, data = fields["seq"], fields["kind"], fields["at"], fields["data"]
    turn = fields.get("turn", 0)
    if not (isinstance(seq, int) and isinstance(kind, str) and isinstance(data, dict)):
        raise TypeError(kind)
    if not 0.0 <= at < FAR_S:
        raise ValueError(at)
    title, is_rewound = str(fields.get("title", "")), fields.get("rewound") is True
    prompts = fields.get("prompts")
    prompts = prompts if isinstance(prompts, int) and prompts >= 0 else None
    return Record(seq, kind, float(at), data, int(turn), title, is_rewound, prompts)


def long_texts(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a record that are encoded in pieces, by their keys."""
    return {key: text for key, text in data.items() if isinstance(text, str) and len(text) > PIECE}


def _json(
    head: Mapping[str, Any], data: Mapping[str, Any], encode: Callable[[Any], str]
) -> bytearray:
    try:
        return _encoded(head, data, encode)
    except UnicodeEncodeError:
        # Half a surrogate pair, from a file name or a model: escaped, it stays valid UTF-8.
        text = json.dumps({**head, "data": data}, separators=(",", ":"), default=str)
        return bytearray(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        # A tool's data may be anything; a record without it beats a session without a journal.
        return _json(head, {"unwritable": f"{type(error).__name__}: {error}"}, encode)


def _encoded(
    head: Mapping[str, Any], data: Mapping[str, Any], encode: Callable[[Any], str]
) -> bytearray:
    """Encode a record; its long texts come last and in pieces, so that no copy of them is made."""
    long = long_texts(data)
    short = {key: value for key, value in data.items() if key not in long} if long else data
    line = bytearray(encode({**head, "data": short}).encode())
    for key, text in long.items():
        del line[-2:]
        line += b'%s%s:"' % (b"," if line[-1:] != b"{" else b"", encode(key).encode())
        for start in range(0, len(text), PIECE):
            line += _dumps(text[start : start + PIECE]).encode()[1:-1]
        line += b'"}}'
    return line


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
