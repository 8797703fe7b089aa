"""llama.cpp: loaded at the first request, asked by one request at a time, stopped on cancel."""

import atexit
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from nanocoder import Cancel, Cancelled, Notice

from nanocoder_provider_local.assembly import Progress, models_folder
from nanocoder_provider_local.fetching import fetch_library
from nanocoder_provider_local.loaded import LibraryMissing, LoadedModel
from nanocoder_provider_local.progress import Report, tell_loading
from nanocoder_provider_local.settings import Settings

if TYPE_CHECKING:
    from nanocoder_provider_local.loaded import LoadedModel

STOP_S: Final = 5.0
LATE_S: Final = 20.0
"""Timeout of a request for a stopped one to end, in seconds; a batch of tokens takes a few."""

Chunk = Mapping[str, Any]


@frozen
class _Failed:
    error: Exception


class Engine:
    """The model file that *find* returns, loaded at the first request.

    Requests run one after the other on threads of their own, so that a caller can be cancelled at
    any moment; loading a model then stops.
    """

    def __init__(
        self, find: Callable[[Progress], Path], settings: Settings, report: Report | None = None
    ) -> None:
        self._find = find
        self._report = report or Report(models_folder())
        self._settings = settings
        self._model: LoadedModel | None = None
        self._lock = threading.Lock()
        self._request: _Ask | None = None
        self._asking: _Ask | None = None

    def ask(
        self, body: Mapping[str, Any], schema: Mapping[str, Any] | None, cancel: Cancel
    ) -> Generator[Chunk | Notice, None, None]:
        """Send *body* to the chat handler and yield its chunks; *schema* restricts the reply.

        Before them come notices, while the weights are prepared.

        Leaving the iterator stops the model after its current token or batch.

        Raises: ProviderError when the model cannot be loaded, nanocoder.Cancelled when *cancel* is
        set.
        """
        cancel.check()
        request = _Ask(self._run, body, schema)
        self._request = request
        forget = cancel.on_set(request.wake)
        try:
            request.start()
            yield from request.chunks(cancel)
        finally:
            forget()
            request.stop()

    @property
    def is_loaded(self) -> bool:
        """Return True if the next request finds the model ready."""
        return self._model is not None and self._model.is_alive

    def close(self) -> None:
        """Stop a running request and free the model's memory."""
        atexit.unregister(self.close)
        request, self._request = self._request, None
        if request:
            request.stop()
        model = self._model
        if model is not None:
            model.end()
        if request and request.ident is not None:
            request.join(STOP_S)
        if self._lock.acquire(timeout=STOP_S):
            self._close_model()
            self._lock.release()

    def _run(self, request: "_Ask") -> None:
        while not self._lock.acquire(timeout=LATE_S):
            self._end_hanging()
        self._asking = request
        try:
            model = self._load_model(request)
            if not request.is_stopped:
                model.ask(request.body, request.schema, request.take)
        except Exception:
            self._close_model()  # the model may be ending, so the next request loads it again
            raise
        finally:
            self._asking = None
            self._lock.release()

    def _end_hanging(self) -> None:
        """End a process in which a stopped request still runs."""
        before, model = self._asking, self._model
        if before is not None and before.is_stopped and model is not None:
            model.end()

    def _load_model(self, request: "_Ask") -> "LoadedModel":
        if self._model is not None and self._model.is_alive:
            return self._model
        path = self._find(partial(self._report_progress, request))
        tell_loading()
        atexit.register(self.close)
        try:
            return self._start(path, request)
        except LibraryMissing:
            request.take_all(self._report.tell_library())
            fetch_library(request.check)
            return self._start(path, request)

    def _start(self, path: Path, request: "_Ask") -> "LoadedModel":
        self._close_model()
        model = self._model = LoadedModel(path, self._settings)
        request.loading(model)
        model.load()
        request.loading(None)
        return model

    def _report_progress(self, request: "_Ask", processed: int, total: int, deed: str) -> None:
        """Show the progress of the weights; raise Cancelled once the request is stopped."""
        request.check()
        request.take_all(self._report(processed, total, deed))

    def _close_model(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            model.close()


class _Ask(threading.Thread):
    """One running request: the engine's thread adds chunks, the caller's takes them."""

    def __init__(
        self,
        run: Callable[["_Ask"], None],
        body: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
    ) -> None:
        super().__init__(name="nanocoder-local-model", daemon=True)
        self._run = run
        self.body = body
        self.schema = schema
        self._chunks: SimpleQueue[Chunk | Notice | _Failed | None] = SimpleQueue()
        self._stopped = threading.Event()
        self._loading: LoadedModel | None = None

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def check(self) -> None:
        """Raise Cancelled once the request is stopped."""
        if self.is_stopped:
            raise Cancelled("interrupted")

    def run(self) -> None:
        try:
            if not self.is_stopped:
                self._run(self)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that reads the chunks
            self._chunks.put(_Failed(error))
        self._chunks.put(None)

    def chunks(self, cancel: Cancel) -> Iterator[Chunk | Notice]:
        while True:
            chunk = self._chunks.get()
            cancel.check()
            if chunk is None:
                return
            if isinstance(chunk, _Failed):
                raise chunk.error
            yield chunk

    def loading(self, model: "LoadedModel | None") -> None:
        """Record the model that this request waits for; end it if the request is stopped."""
        self._loading = model
        if model is not None and self.is_stopped:
            model.end()

    def stop(self) -> None:
        self._stopped.set()
        model = self._loading
        if model is not None:
            model.end()

    def wake(self) -> None:
        self.stop()
        self._chunks.put(None)

    def take_all(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            self._chunks.put(notice)

    def take(self, chunk: Chunk) -> bool:
        """Pass a chunk on; True asks the engine to stop."""
        self._chunks.put(chunk)
        return self.is_stopped
