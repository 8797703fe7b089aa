"""Journals as a test needs them."""

from collections.abc import Callable
from pathlib import Path

from nanocoder_kit_sessions.records import Record, read


def rewrite_journal(path: Path, change: Callable[[Record], Record]) -> None:
    """Write a journal again with *change* applied to each record; the checksums are right."""
    path.write_bytes(b"".join(change(record).line() for record in read(path)))
