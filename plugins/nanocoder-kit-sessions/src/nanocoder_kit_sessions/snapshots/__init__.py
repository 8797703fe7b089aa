"""Snapshots of a workspace in a private git repository, and the changes by commands."""

from nanocoder_kit_sessions.snapshots.command_log import (
    CommandChange,
    CommandEntry,
    append_entry,
    last_number,
    read_entries,
)
from nanocoder_kit_sessions.snapshots.git_store import GitStore, SnapshotError, blob_of

__all__ = [
    "CommandChange",
    "CommandEntry",
    "GitStore",
    "SnapshotError",
    "append_entry",
    "blob_of",
    "last_number",
    "read_entries",
]
