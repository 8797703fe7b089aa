"""What the first call needs is imported while the model answers, so that the call need not wait."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Final

IDLE_S: Final = 0.15
"""By then the request has been sent, and a model that answers at once has answered."""


@contextmanager
def importing(modules: Sequence[str]) -> Iterator[None]:
    """Import *modules* on a thread, one after the other, until the block ends.

    Nothing is registered, and an import that fails is forgotten: who uses the module is told.
    """
    missing = [module for module in modules if module not in sys.modules]
    if not missing:
        yield
        return
    over = threading.Event()
    # As a daemon it keeps nobody from ending.
    threading.Thread(
        target=_import, args=(missing, over), name="nanocoder-imports", daemon=True
    ).start()
    try:
        yield
    finally:
        over.set()


def _import(modules: Sequence[str], over: threading.Event) -> None:
    over.wait(IDLE_S)
    for module in modules:
        if over.is_set():
            return
        # What goes wrong is told where the module is used; a plugin's sys.exit ends nothing here.
        with suppress(BaseException):
            import_module(module)
