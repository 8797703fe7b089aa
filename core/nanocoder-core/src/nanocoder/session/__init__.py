"""Sessions on disk: the journal, what it says after a crash, and the store that finds them again.

Kinds of records: `session.started`, `session.resumed`, `session.changed` (new model, mode, cwd or
title), `message`, `call.started` (before the call runs), `call.finished`, `file.changed` (before
a file is), `undo.started` and `undo.finished` (which changes it took back),
`transcript.compacted` (its messages replace those before), `session.finished`, and any event.
Readers keep kinds they do not know.
"""

from nanocoder.session.journal import Journal
from nanocoder.session.messages import (
    decode_message,
    decode_result,
    encode_call,
    encode_message,
    encode_result,
    encode_usage,
    spoken,
)
from nanocoder.session.records import Record, read
from nanocoder.session.store import SessionStore, name_of
from nanocoder.session.summary import SessionSummary
from nanocoder.session.transcript import Transcript, repaired

__all__ = [
    "Journal",
    "Record",
    "SessionStore",
    "SessionSummary",
    "Transcript",
    "decode_message",
    "decode_result",
    "encode_call",
    "encode_message",
    "encode_result",
    "encode_usage",
    "name_of",
    "read",
    "repaired",
    "spoken",
]
