"""A model on 127.0.0.1 for agents of different vendors: Messages, Responses and Chat Completions.

A player decides what the model says: it gets the tools that a request offers and the results since
its last reply, and returns the next reply.
"""

import gzip
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from attrs import frozen

Body = Mapping[str, Any]
FINAL: Final = "The work is done."
USAGE: Final = {"input_tokens": 1_000, "output_tokens": 10}
CALL_ITEMS: Final = ("function_call", "custom_tool_call", "local_shell_call")


@frozen
class ToolForm:
    """A tool as a request offers it. A *custom* one takes text in place of an object."""

    name: str
    schema: Body
    is_custom: bool = False


@frozen
class Reply:
    """The next reply: *text*, or a call of *name* with *arguments* as they are on the wire.

    *is_cut* ends the reply at the output limit, in the middle of the arguments.
    """

    text: str = ""
    name: str = ""
    arguments: str = "{}"
    is_custom: bool = False
    is_cut: bool = False


Player = Callable[[Sequence[ToolForm], str, int], Reply]
"""From the tools, the results since the last reply and the length of the conversation."""


def tools_of(body: Body) -> list[ToolForm]:
    """Return the tools that a request of any of the three forms offers."""
    forms, queue = [], list(body.get("tools") or ())
    while queue:
        tool = queue.pop(0)
        queue[:0] = tool.get("tools") or ()
        inner = tool.get("function") or tool
        schema = inner.get("parameters") or inner.get("input_schema") or {}
        if inner.get("name") and not tool.get("tools"):
            forms.append(ToolForm(inner["name"], schema, tool.get("type") == "custom"))
    return forms


def results_of(body: Body) -> tuple[str, int]:
    """Return the text that came since the model's last reply, and how long the conversation is."""
    items = body.get("messages") or body.get("input") or []
    last = [at for at, item in enumerate(items) if _is_reply(item)]
    since = items[last[-1] + 1 :] if last else []
    return "\n".join(itertools.chain.from_iterable(map(_texts, since))), len(items)


def _is_reply(item: Body) -> bool:
    return item.get("role") == "assistant" or item.get("type") in CALL_ITEMS


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(map(_texts, value))
    elif isinstance(value, dict):
        for key in ("content", "output", "text"):
            yield from _texts(value.get(key))


def chat(reply: Reply, number: int) -> Iterator[tuple[str, Body]]:
    """Yield the events of Chat Completions."""
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text}
    finish = "stop"
    if reply.name:
        function = {"name": reply.name, "arguments": reply.arguments}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta["tool_calls"], finish = [call], "tool_calls"
    base = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "wire"}
    yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end = "length" if reply.is_cut else finish
    yield "", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010}
    yield "", {**base, "choices": [], "usage": usage}


def messages(reply: Reply, number: int) -> Iterator[tuple[str, Body]]:
    """Yield the events of Anthropic's Messages."""
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "wire",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    yield "message_start", {"message": message}
    if reply.name:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": reply.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": reply.arguments}
        stop = "tool_use"
    else:
        block, stop = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": reply.text}
    yield "content_block_start", {"index": 0, "content_block": block}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    ended = {"stop_reason": "max_tokens" if reply.is_cut else stop, "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": {"output_tokens": 10}}
    yield "message_stop", {}


def responses(reply: Reply, number: int) -> Iterator[tuple[str, Body]]:
    """Yield the events of OpenAI's Responses."""
    call_id = f"call_{number}"
    if reply.is_custom:
        item = {"id": f"ctc_{number}", "type": "custom_tool_call", "call_id": call_id}
        item |= {"name": reply.name, "input": reply.arguments}
    elif reply.name:
        item = {"id": f"fc_{number}", "type": "function_call", "call_id": call_id}
        item |= {"name": reply.name, "arguments": reply.arguments}
    else:
        text: Any = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": text}
    item["status"] = "incomplete" if reply.is_cut else "completed"
    response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    yield "response.created", {"response": response}
    yield "response.output_item.added", {"output_index": 0, "item": item}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    usage = {**USAGE, "total_tokens": 1_010}
    ended = {**response, "status": item["status"], "output": [item], "usage": usage}
    if reply.is_cut:
        ended["incomplete_details"] = {"reason": "max_output_tokens"}
        yield "response.incomplete", {"response": ended}
    else:
        yield "response.completed", {"response": ended}


FORMS: Final = {"/messages": messages, "/responses": responses, "/chat/completions": chat}


class WireServer:
    """Serves one agent; *player* says what the model replies to requests that offer tools."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.number = itertools.count(1)
        self.lock = threading.Lock()
        self.bodies: list[Body] = []
        handler = type("Handler", (_Handler,), {"wire": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def reply(self, body: Body) -> Reply:
        """Ask the player; a request without tools wants a title, and gets a few words."""
        tools = tools_of(body)
        if not tools:
            return Reply("a title")
        with self.lock:
            self.bodies.append(body)
            return self.player(tools, *results_of(body))


class _Handler(BaseHTTPRequestHandler):
    wire: WireServer

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self._body()
        form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
        if form is None:
            self._answer("application/json", b'{"input_tokens": 10}')
            return
        reply, number = self.wire.reply(body), next(self.wire.number)
        events = list(form(reply, number))
        names = [f"event: {name}\n" if name else "" for name, _ in events]
        datas = [{"type": name, **data} if name else data for name, data in events]
        ends = "data: [DONE]\n\n" if form is chat else ""
        lines = [
            f"{name}data: {json.dumps(data)}\n\n" for name, data in zip(names, datas, strict=True)
        ]
        self._answer("text/event-stream", ("".join(lines) + ends).encode())

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model"} for name in ("wire",)]
        self._answer("application/json", json.dumps({"object": "list", "data": models}).encode())

    def do_HEAD(self) -> None:
        self._answer("text/plain", b"")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def _body(self) -> Body:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        with suppress(ValueError):
            return dict(json.loads(raw))
        return {}

    def _answer(self, kind: str, data: bytes) -> None:
        with suppress(ConnectionError):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
