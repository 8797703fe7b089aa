"""The one event loop of the process, for tools that are `async def`.

Started when the first of them runs.
"""

import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled

if TYPE_CHECKING:
    import asyncio

BLOCKED_S = 5.0
"""How long a tool may keep the loop from taking turns before other tools get another one."""

_started = threading.Lock()
_loops: "list[asyncio.AbstractEventLoop]" = []
# One loop per process by nature: it is the thread, not a choice, that is shared.


def wait_for(awaitable: Awaitable[Any], cancel: Cancel) -> Any:
    """Run *awaitable* on the background loop and return what it gives; *cancel* cancels it."""
    import asyncio
    import concurrent.futures

    async def awaited() -> Any:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(awaited(), _loop())
    forget = cancel.on_set(future.cancel)
    try:
        return future.result()
    except concurrent.futures.CancelledError as error:
        raise Cancelled(cancel.reason or "interrupted") from error
    finally:
        forget()


def _loop() -> "asyncio.AbstractEventLoop":
    import asyncio

    with _started:
        if _loops and not _answers(_loops[0]):
            _loops.clear()  # a tool blocks it; the other tools go on with a new one
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="nanocoder-async", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


def _answers(loop: "asyncio.AbstractEventLoop") -> bool:
    """Tell whether the loop still takes turns, as it cannot while a tool blocks in it."""
    turn = threading.Event()
    loop.call_soon_threadsafe(turn.set)
    return turn.wait(BLOCKED_S)
