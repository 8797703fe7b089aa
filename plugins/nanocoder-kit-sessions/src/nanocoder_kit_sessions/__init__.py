"""Sessions in files, for stores and for plugins that work with stored sessions.

Names load their module when they are first used: a start needs the journal alone. Undo is in
`nanocoder_kit_sessions.undo`, and rewinding in `nanocoder_kit_sessions.rewinding`.
"""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_kit_sessions.journal": "FileJournal RecordJournal",
    "nanocoder_kit_sessions.memory": "MemoryJournal",
    "nanocoder_kit_sessions.messages": "store_message",
    "nanocoder_kit_sessions.records": "Record",
    "nanocoder_kit_sessions.removal": "remove remove_old",
    "nanocoder_kit_sessions.store": "SessionStore SessionSummary session_store",
    "nanocoder_kit_sessions.transcript": "Transcript without_rewound",
    "nanocoder_kit_sessions.work": "index_path matches sessions_with_work",
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
