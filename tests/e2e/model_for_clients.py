"""A scripted model on 127.0.0.1 for agents that others wrote.

It speaks Anthropic's Messages and OpenAI's Responses. Asked with tools, it calls one of them by the
end of its name, as it is listed; once it has the result it says so and repeats it.
"""

import http.server
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

WAITING = "WaitForMcpServers"
Event = tuple[str, dict[str, Any]]


class Model:
    """Makes *calls* (the end of a tool's name and its arguments), one a turn, then says "done".

    An agent that still waits for the server lists a tool to wait with, and that is called first.
    """

    def __init__(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.calls = calls
        self.results: list[str] = []
        self.listed: set[str] = set()
        self.numbers = itertools.count()

    def next_call(self, names: Sequence[str], made: int) -> tuple[str, Mapping[str, Any]] | None:
        """Return the call of this turn, None when all were made."""
        self.listed |= {*names}
        if made >= len(self.calls):
            return None
        ending, arguments = self.calls[made]
        for name in names:
            if name.endswith(ending):
                return name, arguments
        return (WAITING, {}) if WAITING in names else None


def message_events(model: Model, request: Mapping[str, Any]) -> Iterator[Event]:
    """Answer in the way of Messages."""
    blocks = [
        block
        for message in request["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
        if not block["tool_use_id"].startswith(WAITING)
    ]
    model.results += [json.dumps(block["content"]) for block in blocks[len(model.results) :]]
    names = [tool["name"] for tool in request.get("tools", ())]
    call = model.next_call(names, len(blocks)) if names else None
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "scripted"}
    yield "message_start", {"message": {**head, "stop_reason": None, "usage": usage}}
    if call is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "done"}
    else:
        identity = f"{call[0]}_{next(model.numbers)}"
        block = {"type": "tool_use", "id": identity, "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    yield "content_block_start", {"index": 0, "content_block": block}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    reason = "end_turn" if call is None else "tool_use"
    yield "message_delta", {"delta": {"stop_reason": reason}, "usage": usage}
    yield "message_stop", {}


def response_events(model: Model, request: Mapping[str, Any]) -> Iterator[Event]:
    """Answer in the way of Responses."""
    outputs = [each for each in request["input"] if each["type"] == "function_call_output"]
    model.results += [json.dumps(each["output"]) for each in outputs[len(model.results) :]]
    # A server's tools are listed one by one, or as a namespace with tools of its own.
    named = {}
    for tool in request.get("tools", ()):
        space = tool.get("name", "") if tool["type"] == "namespace" else ""
        for each in tool.get("tools", [tool]):
            named[f"{space}{each.get('name', '')}"] = (space, each.get("name", ""))
    call = model.next_call([*named], len(outputs))
    yield "response.created", {"response": {"id": "r"}}
    if call is None:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        item = {"type": "message", "id": "i", "role": "assistant", "content": content}
    else:
        space, name = named[call[0]]
        item = {"type": "function_call", "id": "i", "call_id": f"call_{len(outputs)}", "name": name}
        item |= {"arguments": json.dumps(call[1])} | ({"namespace": space} if space else {})
    yield "response.output_item.done", {"output_index": 0, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield "response.completed", {"response": {"id": "r", "output": [item], "usage": usage}}


ANSWERS = {"/v1/messages": message_events, "/v1/responses": response_events}


@contextmanager
def served(model: Model) -> Iterator[int]:
    """Serve *model* and provide the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = ANSWERS.get(self.path.partition("?")[0])
            self.send_response(200 if answer else 404)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for kind, data in answer(model, request) if answer else ():
                line = json.dumps({"type": kind, **data})
                self.wfile.write(f"event: {kind}\ndata: {line}\n\n".encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
