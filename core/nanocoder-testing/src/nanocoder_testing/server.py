"""A real server on 127.0.0.1 with scripted failures, for the tests of providers."""

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, Self

from attrs import field, frozen

FOREVER: Final = 3600.0
_STREAM: Final = {"content-type": "text/event-stream"}


@frozen
class Answer:
    """A response of the server: *pieces* are bytes to send and seconds to be silent.

    *framing* selects the mark of the body's end; *cut* closes the connection in place of the mark.
    """

    pieces: Sequence[bytes | float] = ()
    status: int = 200
    headers: Mapping[str, str] = field(factory=lambda: dict(_STREAM))
    framing: Literal["chunked", "close", "length", "nothing"] = "chunked"
    cut: bool = False


@frozen
class Seen:
    """A received request, with its time (`time.monotonic`)."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float
    connection: int

    @property
    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


def events(*values: Any, end: bytes = b"") -> Answer:
    """Return an answer that streams *values*, each as one event in its own piece."""
    return Answer([*map(data, values), *([end] if end else [])])


def data(value: Any) -> bytes:
    """Return one event: bytes as they are, anything else as JSON, a dict's "type" as its type."""
    if isinstance(value, bytes):
        return b"data: " + value + b"\n\n"
    kind = value.get("type") if isinstance(value, dict) else None
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def refusal(status: int, body: Any = None, **headers: str) -> Answer:
    """Return an answer that is an error; underscores in header names become dashes."""
    text = body if isinstance(body, bytes) else json.dumps(body or {"error": {"message": "no"}})
    sent = text if isinstance(text, bytes) else text.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([sent], status, {"content-type": "application/json", **named}, "length")


class ScriptedServer:
    """A server that plays *answers*, one per request, and repeats the last one.

    `seen` has the requests. *port* 0 is any free one.
    """

    def __init__(self, *answers: Answer, port: int = 0) -> None:
        self.answers = list(answers)
        self.seen: list[Seen] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._connections: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop, close every connection and wait for the threads."""
        self._stop.set()
        for sock in (self._listener, *self._connections):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for sock in (self._listener, *self._connections):
            sock.close()

    def _start(self, target: Any, *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._stop.is_set():
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.append(connection)
                self._start(self._serve, connection, len(self._connections))

    def _serve(self, connection: socket.socket, number: int) -> None:
        # A client may hang up early in a test.
        with suppress(OSError), connection.makefile("rb") as reader:
            while (request := _read_request(reader, number)) is not None:
                answer = self._next(request)
                if not self._play(connection, answer):
                    break
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def _next(self, request: Seen) -> Answer:
        with self._lock:
            self.seen.append(request)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def _play(self, connection: socket.socket, answer: Answer) -> bool:
        """Send *answer*; False when the connection ends with it."""
        if answer.framing != "nothing":
            connection.sendall(_head(answer))
        for piece in answer.pieces:
            if not isinstance(piece, bytes):
                if self._stop.wait(piece):
                    return False
            elif answer.framing == "chunked":
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            else:
                connection.sendall(piece)
        if answer.framing == "chunked" and not answer.cut:
            connection.sendall(b"0\r\n\r\n")
        return answer.framing in {"chunked", "length"} and not answer.cut


def _head(answer: Answer) -> bytes:
    headers = dict(answer.headers)
    if answer.framing == "chunked":
        headers["transfer-encoding"] = "chunked"
    elif answer.framing == "length":
        pieces = [piece for piece in answer.pieces if isinstance(piece, bytes)]
        headers["content-length"] = str(sum(map(len, pieces)))
    else:
        headers["connection"] = "close"
    lines = [f"HTTP/1.1 {answer.status} Status"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def _read_request(reader: Any, connection: int) -> Seen | None:
    first = reader.readline().decode("latin-1").split()
    if len(first) != 3:  # noqa: PLR2004 - method, path, version; anything else is not HTTP
        return None
    headers: dict[str, str] = {}
    while line := reader.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    return Seen(first[0], first[1], headers, body, time.monotonic(), connection)
