"""A growing list of entries, which each browser reads from any number on."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final

from attrs import define, field

REST_S: Final = 0.03
"""Least interval between two batches of entries for a browser, in seconds."""


class Feed:
    """Entries in order, each with a number and a kind; written from any thread.

    Entries that a later one makes unnecessary are removed, so that a browser that connects late
    does not read each piece of a complete answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[int, str] = {}
        self._pieces: list[int] = []
        self._number = 0
        self._readers: set[_Reader] = set()
        self._is_closed = False

    def close(self) -> None:
        """End every reader."""
        with self._lock:
            self._is_closed = True
            readers = tuple(self._readers)
        for reader in readers:
            reader.wake()

    def add(self, kind: str, data: Mapping[str, Any], *, is_piece: bool = False) -> int:
        """Add an entry and return its number; a *piece* lasts until `end_pieces`."""
        text = json.dumps({"kind": kind, **data}, ensure_ascii=False, default=str)
        with self._lock:
            self._number += 1
            self._entries[self._number] = text
            if is_piece:
                self._pieces.append(self._number)
            readers = tuple(self._readers)
            number = self._number
        for reader in readers:
            reader.wake()
        return number

    def end_pieces(self) -> None:
        """Remove the pieces so far: a following entry contains all of them."""
        with self._lock:
            for number in self._pieces:
                self._entries.pop(number, None)
            self._pieces.clear()

    def clear(self) -> None:
        """Remove all entries so far."""
        with self._lock:
            self._entries.clear()
            self._pieces.clear()

    def forget(self, number: int) -> None:
        """Remove one entry, such as an answered question."""
        with self._lock:
            self._entries.pop(number, None)

    def after(self, number: int) -> list[tuple[int, str]]:
        """Return the entries that come after *number*, with their numbers."""
        with self._lock:
            return [(each, text) for each, text in self._entries.items() if each > number]

    async def read(self, number: int) -> AsyncIterator[tuple[int, str]]:
        """Yield the entries after *number*, and those to come, until the feed is closed."""
        reader = _Reader(asyncio.get_running_loop())
        with self._lock:
            self._readers.add(reader)
        try:
            while not self._is_closed:
                reader.event.clear()
                for entry in self.after(number):
                    number = entry[0]
                    yield entry
                await reader.event.wait()
                await asyncio.sleep(REST_S)
        finally:
            with self._lock:
                self._readers.discard(reader)


@define(eq=False)
class _Reader:
    loop: asyncio.AbstractEventLoop
    event: asyncio.Event = field(factory=asyncio.Event)

    def wake(self) -> None:
        """Wake the reader; its loop may have ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.event.set)
