"""Stored sessions for plugins: their records, transcripts and prompts, and deleting them.

Undo is in `nanocoder_kit_sessions.undo`, and rewinding in `nanocoder_kit_sessions.rewinding`: few
commands need what they import.
"""

from nanocoder import Record, SessionStore, SessionSummary, Transcript, without_rewound

from nanocoder_kit_sessions.removal import remove, remove_old
from nanocoder_kit_sessions.work import matches, sessions_with_work

__all__ = [
    "Record",
    "SessionStore",
    "SessionSummary",
    "Transcript",
    "matches",
    "remove",
    "remove_old",
    "sessions_with_work",
    "without_rewound",
]
