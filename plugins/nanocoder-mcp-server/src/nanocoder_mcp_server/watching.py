"""Resources that clients subscribed to: they hear of each change of the file."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

LOOK_S: Final = 1.0
"""Interval of the checks of files, in seconds."""
MAX_WATCHED: Final = 1_000
Stamp = tuple[int, int] | None


class Subscriptions:
    """The resources that clients watch; its methods run on the loop of the server."""

    def __init__(self) -> None:
        self._watched: dict[tuple[str, str], tuple[Any, Path, Stamp]] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, client: str, uri: str, session: Any, path: Path) -> None:
        """Tell *client* of changes of the file at *path* from now on."""
        if len(self._watched) < MAX_WATCHED:
            self._watched[client, uri] = session, path, _stamp(path)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def remove(self, client: str, uri: str) -> None:
        """Stop the notifications of *client* about *uri*."""
        self._watched.pop((client, uri), None)

    async def _watch(self) -> None:
        while self._watched:
            await asyncio.sleep(LOOK_S)
            for (client, uri), (session, path, before) in [*self._watched.items()]:
                now = await asyncio.to_thread(_stamp, path)
                if now == before or (client, uri) not in self._watched:
                    continue
                self._watched[client, uri] = session, path, now
                # A client that has left must not stop the notifications of the others.
                with suppress(Exception):
                    await session.send_resource_updated(uri)


def _stamp(path: Path) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
