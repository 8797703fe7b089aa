"""A model loaded in a process of its own, which can be ended at any moment."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import ProviderError

from nanocoder_provider_local.fetching import LIBRARY, LIBRARY_BY_HAND, library_folder
from nanocoder_provider_local.settings import Settings

PROGRAM: Final = Path(__file__).with_name("serving.py")
BATCH_TOKENS: Final = 64
"""A prompt can be stopped only between two batches; one takes about a second on two cores."""
SPIN_VARIABLE: Final = "GOMP_SPINCOUNT"
SPIN_ROUNDS: Final = "1000"
TUNED: Final = (
    *("GOMP_", "OMP_", "GGML_", "LLAMA_", "CUDA_", "HIP_", "ROCR_", "HSA_", "VK_"),
    *("HOME", "TMPDIR", "XDG_", "LANG", "LC_", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
)
"""The engine gets the variables whose names begin like this."""
LIBRARIES: Final = "LD_LIBRARY_PATH"
STOP_S: Final = 5.0

Chunk = Mapping[str, Any]
Line = Mapping[str, Any]


class LibraryMissing(ProviderError):
    """The engine cannot be loaded, because the system lacks a library."""


class LoadedModel:
    """The engine's process and its one conversation.

    Loading blocks every thread of its process, and an error in the engine ends the process, so it
    is not ours. `load` and `ask` are called from one thread at a time, `end` and `stop` from any.
    """

    def __init__(self, model: Path, settings: Settings) -> None:
        self._model = model
        self._settings = settings
        self._number = 0
        # A process group of its own, since Ctrl-C in the terminal is not meant for the model.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            process_group=0,
        )

    def load(self) -> None:
        """Wait until the model is loaded; raises ProviderError."""
        folder = tempfile.mkdtemp(prefix="nanocoder-")
        settings = self._settings
        parameters = {
            "file": str(self._model),
            "context": settings.context,
            "threads": settings.threads or os.cpu_count() or 1,
            "batch": BATCH_TOKENS,
            "folder": folder,
        }
        try:
            self._begin(model=parameters)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def try_engine(self) -> None:
        """Load the engine without a model; raises ProviderError, LibraryMissing among them."""
        self._begin()

    def _begin(self, **model: Mapping[str, Any]) -> None:
        # It imports the engine from our own search path, but never from the current directory.
        self._send({"path": [path for path in sys.path if os.path.isabs(path)], **model})
        if "loaded" not in (line := self._receive()):
            raise self._loading_error(str(line.get("engine", "")))

    def ask(
        self,
        body: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
        on_chunk: Callable[[Chunk], bool],
    ) -> None:
        """Pass the chunks of a reply to *on_chunk*, which returns whether to stop.

        Raises: ProviderError when the process has ended, or writes something that is no reply.
        """
        self._number += 1
        self._send({"number": self._number, "body": body, "schema": schema})
        while (line := self._receive()).get("end") != self._number:
            if "failed" in line:
                raise ProviderError(f"llama.cpp failed: {line['failed']}", kind="unavailable")
            if not isinstance(chunk := line.get("chunk"), dict):
                raise _protocol_error()
            if on_chunk(chunk):
                self.stop()

    def stop(self) -> None:
        """End the reply at its next chunk."""
        self._send({"stop": self._number})

    @property
    def is_alive(self) -> bool:
        """Return True if the process still runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process at once; a waiting caller gets a ProviderError."""
        self._process.kill()

    def close(self) -> None:
        """End the process and close its pipes."""
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        stream = self._process.stdin
        # An ended process is noticed where its answer is read.
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.write(json.dumps(message).encode() + b"\n")
                stream.flush()

    def _receive(self) -> Line:
        line = self._process.stdout.readline() if self._process.stdout is not None else b""
        if not line.endswith(b"\n"):
            raise self._ended_error()
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise _protocol_error()
        return value

    def _loading_error(self, engine: str) -> ProviderError:
        """Return the error of a model that cannot be loaded, with the *engine*'s reason."""
        if LIBRARY in engine:
            return LibraryMissing(LIBRARY_BY_HAND, kind="unavailable")
        if engine:
            return ProviderError(
                f"the engine of the embedded model (xllamacpp) cannot be loaded: {engine}",
                kind="unavailable",
            )
        return ProviderError(
            f"llama.cpp cannot load {str(self._model)!r}: the file is damaged, of a kind it does "
            "not know, or too large for the memory; try another with "
            "--model local//path/to/file.gguf",
            kind="unavailable",
        )

    def _ended_error(self) -> ProviderError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        code = self._process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return ProviderError(
            f"the process of the embedded model has ended {how}; if the memory is short, set a "
            "smaller context in [plugins.provider-local]; the next request loads it again",
            kind="unavailable",
        )


def _protocol_error() -> ProviderError:
    return ProviderError(
        "the process of the embedded model wrote something that is not part of a reply, and was"
        " ended; the next request loads it again",
        kind="protocol",
    )


def _environment() -> dict[str, str]:
    """Return the environment of the engine's process.

    The engine's threads spin for milliseconds while they wait for each other. If another program
    needs a core, they waste each other's time: 32 tokens a second on two free cores became 2; with
    short waits, 8 to 24. Other variables are those that tune the engine, and no keys.
    """
    tuned = {name: value for name, value in os.environ.items() if name.startswith(TUNED)}
    folders = [tuned.get(LIBRARIES, ""), str(library_folder())]
    tuned[LIBRARIES] = os.pathsep.join(filter(None, folders))
    return {SPIN_VARIABLE: SPIN_ROUNDS, "PATH": os.defpath, **tuned}
