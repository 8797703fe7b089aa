"""A model on 127.0.0.1 that plays a script and notes when requests came and replies left.

It runs in a process of its own, so that what is measured beside it is the harness alone: the time
from the last byte of a reply to the first byte of the next request.
"""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

CRLF = b"\r\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """Return *data* as one HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    """Return one server-sent event of a Chat Completions stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


def reply(turn: Mapping[str, Any], number: int) -> list[bytes]:
    """Return the pieces of one reply; each is written by itself."""
    pieces = [event({"role": "assistant", "content": ""})]
    if turn.get("text"):
        texts = (turn["text"].format(i=place) for place in range(turn.get("deltas", 1)))
        pieces.extend(event({"content": text}) for text in texts)
    for index, call in enumerate(turn.get("calls", ())):
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        one = {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": function,
        }
        pieces.append(event({"tool_calls": [one]}))
    finish = "tool_calls" if turn.get("calls") else "stop"
    usage = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\n'
    # Pieces are written in blocks, as a server does that is faster than its reader.
    size = turn.get("block", 64)
    blocks = [b"".join(pieces[at : at + size]) for at in range(0, len(pieces), size)]
    return [*blocks, event({}, finish), usage, b"data: [DONE]\n\n"]


def turn_after(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of the turn that comes next.

    Calls carry the number of their turn in their ID, because a compacted conversation has fewer
    messages than turns were played.
    """
    ids = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    if ids:
        return int(ids[-1].split("_")[1]) + 1
    return sum(message["role"] == "assistant" for message in messages)


class Model:
    """Plays *turns*; the messages of a request say which."""

    def __init__(self, turns: Sequence[Mapping[str, Any]]) -> None:
        self.turns = turns
        self.came: list[float] = []
        self.left: list[float] = []
        self.sent: list[float] = []
        self.bodies: list[int] = []
        self._ready = {
            place: [chunk(piece) for piece in reply(turn, place)]
            for place, turn in enumerate(turns)
            if turn.get("deltas", 1) > 1
        }
        self.first_body = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Answer until the process ends."""
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        # A client that exits at once resets its connection.
        with suppress(ConnectionError), connection, connection.makefile("rb") as stream:
            while first := stream.peek(1)[:1]:
                came = time.monotonic()
                length = 0
                line = stream.readline()
                is_post = line.startswith(b"POST")
                while (line := stream.readline()) not in (CRLF, b""):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                body = stream.read(length)
                if not first or not is_post:
                    return
                self._answer(connection, body, came)

    def _answer(self, connection: socket.socket, body: bytes, came: float) -> None:
        request = json.loads(body)
        if not request.get("tools"):  # a plugin that shortens the conversation asks for a summary
            pieces = map(chunk, reply({"text": "A summary."}, 0))
            connection.sendall(HEAD + b"".join(pieces) + b"0\r\n\r\n")
            return
        number = turn_after(request["messages"])
        self.came.append(came)
        self.bodies.append(len(body))
        self.first_body = self.first_body or body
        turn = self.turns[min(number, len(self.turns) - 1)]
        time.sleep(turn.get("delay_s", 0))
        pieces = self._pieces(turn, number)
        if turn.get("pause_s"):
            self._trickle(connection, [HEAD, *pieces], turn["pause_s"])
        else:
            connection.sendall(HEAD + b"".join(pieces) + b"0\r\n\r\n")
        self.left.append(time.monotonic())

    def _pieces(self, turn: Mapping[str, Any], number: int) -> list[bytes]:
        """Return the chunks of a reply; a long one is made before it is asked for."""
        ready = self._ready.get(min(number, len(self.turns) - 1))
        return ready or [chunk(piece) for piece in reply(turn, number)]

    def _trickle(self, connection: socket.socket, pieces: Sequence[bytes], pause_s: float) -> None:
        """Send a reply as a model writes it, and note when each piece left."""
        for piece in pieces:
            connection.sendall(piece)
            self.sent.append(time.monotonic())
            time.sleep(pause_s)
        connection.sendall(b"0\r\n\r\n")


def main() -> None:
    """Serve the script on stdin.

    Print the port, then on SIGTERM-free demand ("?" on stdin) what was seen.
    """
    model = Model(json.loads(sys.stdin.readline()))
    threading.Thread(target=model.serve, daemon=True).start()
    print(model.port, flush=True)
    for line in sys.stdin:
        if line.strip() == "?":
            seen = {
                "came": model.came,
                "left": model.left,
                "sent": model.sent,
                "bodies": model.bodies,
                "first": model.first_body.decode(),
            }
            print(json.dumps(seen), flush=True)
        model.came, model.left, model.sent, model.bodies, model.first_body = [], [], [], [], b""
    os._exit(0)


if __name__ == "__main__":
    main()
