"""Import what the first call needs while the model answers, so that the call need not wait."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Final

IDLE_S: Final = 0.15
"""By then the request has been sent, and a model that answers at once has answered."""


@contextmanager
def preload(modules: Sequence[str]) -> Iterator[None]:
    """Import *modules* on a thread, one after the other, until the block ends.

    Nothing is registered, and an import that fails is forgotten: it fails again where the module
    is used.
    """
    missing = [module for module in modules if module not in sys.modules]
    if not missing:
        yield
        return
    stop = threading.Event()
    # A daemon thread does not delay the end of the program.
    thread = threading.Thread(
        target=_import, args=(missing, stop), name="nanocoder-imports", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()


def _import(modules: Sequence[str], stop: threading.Event) -> None:
    stop.wait(IDLE_S)
    for module in modules:
        if stop.is_set():
            return
        # The error is reported where the module is used; a plugin's sys.exit must end nothing here.
        with suppress(BaseException):
            import_module(module)
