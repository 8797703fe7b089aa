"""Stored sessions for plugins: their records and transcripts, and deleting them.

Undo is in `nanocoder_kit_sessions.undo`: few commands need what it imports.
"""

from nanocoder import Record, SessionStore, SessionSummary, Transcript

from nanocoder_kit_sessions.removal import remove, remove_old
from nanocoder_kit_sessions.work import sessions_with_work

__all__ = [
    "Record",
    "SessionStore",
    "SessionSummary",
    "Transcript",
    "remove",
    "remove_old",
    "sessions_with_work",
]
