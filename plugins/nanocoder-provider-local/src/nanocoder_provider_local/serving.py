"""The program of the model's own process: requests come on standard input, chunks go back.

Started by its path, with nothing of nanocoder imported. A line each way is one JSON object. First
`{"path": […], "model": {…}}` is answered by `{"loaded": true}`; then each `{"number": 1, "body":
{…}, "schema": {…}}` by chunks and `{"end": 1}`. `{"stop": 1}` ends a reply at its next chunk, and
the end of standard input the process. `{"failed": "…"}` stands in for an answer.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from typing import Any, BinaryIO


class Requests(threading.Thread):
    """Reads standard input: requests wait for their turn, a wish to stop is heard at once."""

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
        # Whoever asked is gone. The engine's threads would not let the interpreter end in order.
        os._exit(0)


class Replies:
    """Writes to what was standard output; nothing that the engine prints there may come between."""

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

    def __init__(self, llama: Any, wanted: Mapping[str, Any]) -> None:
        self._llama = llama
        self._server = llama.Server(parameters(llama.CommonParams(), wanted))
        self._grammars: dict[str, str] = {}

    def answer(self, request: Mapping[str, Any], requests: Requests, replies: Replies) -> None:
        """Write the chunks of one reply."""
        number: int = request["number"]

        def take(chunk: Any) -> bool:
            # The engine swallows exceptions: none may get out.
            value = chunk if isinstance(chunk, Mapping) else json.loads(chunk)
            replies.write({"chunk": value})
            return requests.stopped == number

        body = dict(request["body"])
        if request["schema"] is not None:
            body["grammar"] = self._compiled(request["schema"])
        if requests.stopped != number:
            self._server.handle_chat_completions(body, take)

    def _compiled(self, schema: Any) -> str:
        """Return *schema* as a grammar of the dialect that this build understands."""
        key = json.dumps(schema)
        if key not in self._grammars:
            self._grammars[key] = str(self._llama.json_schema_to_grammar(schema))
        return self._grammars[key]


def parameters(parameters: Any, wanted: Mapping[str, Any]) -> Any:
    """Fill in the engine's *parameters*."""
    parameters.model.path = wanted["file"]
    parameters.n_ctx = wanted["context"]
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = wanted["batch"]
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = wanted["threads"]
    # It is for a second copy of the prompt cache, of use only with several conversations.
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    # The engine cannot run without a listening socket. Nobody may ever talk to it: it is a Unix
    # socket in a private folder that is gone before the first request.
    parameters.hostnames = [f"{wanted['folder']}/unused.sock"]
    parameters.endpoint_slots = False
    parameters.ui = False
    return parameters


def replies_to(requests: Requests, replies: Replies) -> Iterator[Mapping[str, Any]]:
    """Do what comes, one thing after the other, and yield what each ended with."""
    first = requests.waiting.get()
    sys.path[:] = first["path"]
    import xllamacpp  # type: ignore[import-untyped]  # found where the one who asks finds it

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
    except Exception as error:  # noqa: BLE001 - whoever asks hears of it, and standard error is nobody's
        replies.write({"failed": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
