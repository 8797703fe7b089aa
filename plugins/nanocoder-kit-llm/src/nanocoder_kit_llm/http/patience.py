"""Waiting for a server that loads a model or reads a long prompt, with the time shown."""

import time
from collections.abc import Generator, Sequence
from threading import Thread
from typing import Final, Generic, TypeVar

from nanocoder import Notice

T = TypeVar("T")

NOTICE_S: Final = 5.0
"""Interval of the notices with the elapsed time, in seconds."""


def waited_for(
    batches: Generator[T, None, None], host: str
) -> Generator[Sequence[Notice], None, Generator[T, None, None]]:
    """Yield notices of the elapsed time until the first of *batches*, and return all batches."""
    waiting: _First[T] = _First(batches)
    started = time.monotonic()
    waiting.start()
    while not waiting.is_over(NOTICE_S):
        seconds = time.monotonic() - started
        text = f"{host} loads the model or reads the prompt, {seconds:.0f} s"
        yield [Notice(text, is_passing=True)]
    return waiting.all()


class _First(Thread, Generic[T]):
    """Takes the first batch on a thread of its own; the caller takes the others."""

    def __init__(self, batches: Generator[T, None, None]) -> None:
        super().__init__(daemon=True, name="nanocoder-first-byte")
        self._batches = batches
        self._first: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Wait for the first batch, which a cancel of the request ends."""
        try:
            self._first = [next(self._batches)]
        except StopIteration:
            return
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            self._error = error

    def is_over(self, seconds: float) -> bool:
        """Wait for at most *seconds*; tell whether there is a first batch, or none."""
        self.join(seconds)
        return not self.is_alive()

    def all(self) -> Generator[T, None, None]:
        """Yield all batches; re-raises the error of the first one."""
        try:
            if self._error is not None:
                raise self._error
            yield from self._first
            yield from self._batches
        finally:
            self._batches.close()
