"""The program of the model's own process: requests come on standard input, chunks go back.

It is started by its path and imports nothing of nanocoder. Each line is one JSON object. First
`{"path": […], "model": {…}}` is answered by `{"loaded": true}`, or by `{"engine": "…"}` where the
engine itself cannot be loaded. Without `model` that is all; else each `{"number": 1, "body":
{…}, "schema": {…}}` by chunks and `{"end": 1}`. `{"stop": 1}` ends a reply at its next chunk, and
the end of standard input ends the process. `{"failed": "…"}` replaces an answer.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

OWN_GRAMMAR: Final = "x-grammar"
GUIDANCE: Final = "%llguidance"
"""Prefix of a grammar for the engine's library llguidance, which not every build has."""


class Requests(threading.Thread):
    """Reads standard input: requests wait for their turn, a stop takes effect at once."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(daemon=True)
        self.waiting: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.stopped = 0
        self._stream = stream

    def run(self) -> None:
        """Read until the end, which ends the process."""
        for line in self._stream:
            message = json.loads(line)
            if "stop" in message:
                self.stopped = message["stop"]
            else:
                self.waiting.put(message)
        # The caller is gone. The engine's threads would prevent a normal exit.
        os._exit(0)


class Replies:
    """Writes to the original standard output; the engine's own output to it is discarded."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)

    def write(self, message: Mapping[str, Any]) -> None:
        """Write one line."""
        self._stream.write(json.dumps(message).encode() + b"\n")
        self._stream.flush()


class Engine:
    """llama.cpp with a model."""

    def __init__(self, llama: Any, options: Mapping[str, Any]) -> None:
        self._llama = llama
        self._server = llama.Server(parameters(llama.CommonParams(), options))
        self._grammars: dict[str, str] = {}

    def answer(self, request: Mapping[str, Any], requests: Requests, replies: Replies) -> None:
        """Write the chunks of one reply."""
        number: int = request["number"]

        def take(chunk: Any) -> bool:
            # The engine swallows exceptions, so none may be raised here.
            value = chunk if isinstance(chunk, Mapping) else json.loads(chunk)
            replies.write({"chunk": value})
            return requests.stopped == number

        body = dict(request["body"])
        if request["schema"] is not None:
            body["grammar"] = self._grammar(request["schema"])
        if requests.stopped != number:
            self._server.handle_chat_completions(body, take)

    def _grammar(self, schema: Any) -> str:
        """Return *schema* as a grammar for this build of the engine, or the grammar in it."""
        key = json.dumps(schema)
        if key not in self._grammars:
            plain = {name: value for name, value in schema.items() if name != OWN_GRAMMAR}
            grammar = str(self._llama.json_schema_to_grammar(plain))
            knows_it = grammar.startswith(GUIDANCE)
            self._grammars[key] = schema.get(OWN_GRAMMAR, grammar) if knows_it else grammar
        return self._grammars[key]


def parameters(parameters: Any, options: Mapping[str, Any]) -> Any:
    """Fill in the engine's *parameters*."""
    parameters.model.path = options["file"]
    parameters.n_ctx = options["context"]
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = options["batch"]
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options["threads"]
    # A second copy of the prompt cache is useful only for several conversations.
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    # The engine cannot run without a listening socket. To keep it unreachable, it is a Unix socket
    # in a private folder that is deleted before the first request.
    parameters.hostnames = [f"{options['folder']}/unused.sock"]
    parameters.endpoint_slots = False
    parameters.ui = False
    return parameters


def replies_to(requests: Requests, replies: Replies) -> Iterator[Mapping[str, Any]]:
    """Process requests one after the other, and yield the last message for each."""
    first = requests.waiting.get()
    sys.path[:] = first["path"]
    try:
        import xllamacpp  # type: ignore[import-untyped]  # from the caller's search path
    except ImportError as error:
        yield {"engine": str(error)}
        return
    if "model" not in first:
        yield {"loaded": True}
        return
    engine = Engine(xllamacpp, first["model"])
    yield {"loaded": True}
    while True:
        request = requests.waiting.get()
        engine.answer(request, requests, replies)
        yield {"end": request["number"]}


def main() -> None:
    """Serve until standard input ends, or something fails."""
    replies = Replies()
    requests = Requests(sys.stdin.buffer)
    requests.start()
    try:
        for end in replies_to(requests, replies):
            replies.write(end)
    except Exception as error:  # noqa: BLE001 - the caller reports it; standard error is discarded
        replies.write({"failed": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
