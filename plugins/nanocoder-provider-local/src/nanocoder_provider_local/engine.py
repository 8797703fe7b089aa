"""llama.cpp in this process: loaded once, asked one thing at a time, stopped with its listener."""

import atexit
import contextlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from attrs import frozen
from nanocoder import Cancel, ProviderError

from nanocoder_provider_local.progress import tell_loading
from nanocoder_provider_local.settings import Settings

BATCH_TOKENS: Final = (
    64  # a prompt can be left only between two batches: 64 tokens are about a second on two cores
)
SPIN_VARIABLE: Final = "GOMP_SPINCOUNT"
SPIN_ROUNDS: Final = "1000"
STOP_S: Final = 5.0

Chunk = Mapping[str, Any]


@frozen
class _Failed:
    error: Exception


class Engine:
    """The model file that *find* gives, loaded at the first request.

    Requests run one after the other on threads of their own, so that whoever waits for one can be
    cancelled at any moment. Loading is the exception: it holds up every thread of Python.
    """

    def __init__(self, find: Callable[[], Path], settings: Settings) -> None:
        self._find = find
        self._settings = settings
        self._server: Any = None
        self._lock = threading.Lock()
        self._request: _Ask | None = None

    def ask(self, body: Mapping[str, Any], cancel: Cancel) -> Iterator[Chunk]:
        """Send *body* to the chat handler and yield its chunks.

        Leaving the iterator stops the model after the token or batch it is at.

        Raises: ProviderError when the model cannot be loaded, nanocoder.Cancelled when *cancel* is
        set.
        """
        cancel.check()
        request = _Ask(self._run, body)
        self._request = request
        forget = cancel.on_set(request.wake)
        try:
            request.start()
            yield from request.chunks(cancel)
        finally:
            forget()
            request.stop()

    def grammar(self, schema: Mapping[str, Any]) -> str:
        """Return *schema* as a grammar of the dialect that this build understands."""
        return str(llama_module().json_schema_to_grammar(dict(schema)))

    def close(self) -> None:
        """Stop what runs and free the model's memory."""
        atexit.unregister(self.close)
        request, self._request = self._request, None
        if request:
            request.stop()
            request.join(STOP_S)
        if self._lock.acquire(timeout=STOP_S):
            self._server = None
            self._lock.release()

    def _run(self, body: Mapping[str, Any], on_chunk: Callable[[Any], bool]) -> None:
        with self._lock:
            if self._server is None:
                path = self._find()
                tell_loading()
                self._server = load(path, self._settings)
                # A thread inside the engine at the interpreter's very end would abort the process.
                atexit.register(self.close)
            self._server.handle_chat_completions(dict(body), on_chunk)


class _Ask(threading.Thread):
    """One request on its way: the engine's thread puts chunks in, the asking one takes them."""

    def __init__(
        self,
        run: Callable[[Mapping[str, Any], Callable[[Any], bool]], None],
        body: Mapping[str, Any],
    ) -> None:
        super().__init__(name="nanocoder-local-model", daemon=True)
        self._run = run
        self._body = body
        self._chunks: SimpleQueue[Chunk | _Failed | None] = SimpleQueue()
        self._stopped = threading.Event()

    def run(self) -> None:
        try:
            if not self._stopped.is_set():
                self._run(self._body, self._take)
        except Exception as error:  # noqa: BLE001 - raised again where the chunks are read
            self._chunks.put(_Failed(error))
        self._chunks.put(None)

    def chunks(self, cancel: Cancel) -> Iterator[Chunk]:
        while True:
            chunk = self._chunks.get()
            cancel.check()
            if chunk is None:
                return
            if isinstance(chunk, _Failed):
                raise chunk.error
            yield chunk

    def stop(self) -> None:
        self._stopped.set()

    def wake(self) -> None:
        self._stopped.set()
        self._chunks.put(None)

    def _take(self, chunk: Any) -> bool:
        """Pass a chunk on; True tells the engine to stop. It swallows exceptions: let none out."""
        self._chunks.put(chunk if isinstance(chunk, Mapping) else json.loads(chunk))
        return self._stopped.is_set()


def load(model: Path, settings: Settings) -> Any:
    """Load *model* and return the engine's server object; raises ProviderError."""
    # The engine cannot run without a listening socket. Nobody may ever talk to it: it is a Unix
    # socket in a private folder that is gone before the first request.
    llama = llama_module()
    folder = tempfile.mkdtemp(prefix="nanocoder-")
    try:
        return llama.Server(_parameters(llama.CommonParams(), model, settings, folder))
    except (RuntimeError, ValueError) as error:
        raise ProviderError(
            f"llama.cpp cannot load {str(model)!r}: the file is damaged, of a kind it does not "
            "know, or too large for the memory; try another with --model local//path/to/file.gguf",
            kind="unavailable",
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def llama_module() -> Any:
    """Import llama.cpp, which is 30 MB of machine code that only a session with it should load."""
    with _short_spin():
        import xllamacpp  # type: ignore[import-untyped]
    return xllamacpp


@contextlib.contextmanager
def _short_spin() -> Iterator[None]:
    """Have the engine's threads wait for each other briefly before they sleep.

    They spin for milliseconds by default, and where something else wants a core each one then burns
    what the others need: 32 tokens a second on two free cores became 2; with this, 8 to 24.
    The thread library reads the variable once, as it is loaded; no child process should find it.
    """
    if SPIN_VARIABLE in os.environ:
        yield
        return
    os.environ[SPIN_VARIABLE] = SPIN_ROUNDS
    try:
        yield
    finally:
        del os.environ[SPIN_VARIABLE]


def _parameters(parameters: Any, model: Path, settings: Settings, folder: str) -> Any:
    threads = settings.threads or os.cpu_count() or 1
    parameters.model.path = str(model)
    parameters.n_ctx = settings.context
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = (
        0  # a second copy of the prompt cache, of use only with several conversations
    )
    parameters.warmup = False
    parameters.verbosity = -1  # standard error belongs to the person; failures reach us as values
    parameters.hostnames = [f"{folder}/unused.sock"]
    parameters.endpoint_slots = False
    parameters.ui = False
    return parameters
