"""A client that lost its stream gets the rest of it, and nobody else does."""

import gc
import http.client
import json
import socket
import threading
from contextlib import closing, contextmanager

import anyio
import pytest
import uvicorn
from mcp_types import JSONRPCNotification
from nanocoder import hookimpl, tool
from nanocoder_mcp_server.calls import Calls
from nanocoder_mcp_server.events import Events, app_of
from nanocoder_mcp_server.protocol import server_of
from nanocoder_testing import opened

pytestmark = [pytest.mark.timeout(60), pytest.mark.contract("I25")]
REVISION = "2025-11-25"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {
    "protocolVersion": REVISION,
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Waiting:
    """A tool that ends when the test lets it."""

    def __init__(self):
        self.may_end = threading.Event()

    @hookimpl
    def nanocoder_tools(self):
        @tool(risk="safe", effects=["read"])
        def wait(ctx) -> str:
            """Wait until the test lets it go."""
            while not self.may_end.wait(0.02):
                ctx.cancelled.check()
            return "the end of the wait"

        return [wait]


@contextmanager
def served(folder):
    """Serve the tool at a port; provides the port, and what lets the tool end."""
    folder.mkdir()
    tools, calls = Waiting(), Calls()
    options = {"approve": calls.approve, "ask": calls.answer, "mode": "ask"}
    with opened(folder, plugins={"tools": tools}, **options) as (session, _):
        calls.session = session
        app = app_of(server_of(calls, {"wait": session.tools["wait"]}))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            try:
                yield listening.getsockname()[1], tools
            finally:
                tools.may_end.set()
                server.should_exit = True
                thread.join(20)


@contextmanager
def answered(port, method, headers, message=None):
    """Send a request; provides the answer, and closes the connection after it."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        body = None if message is None else json.dumps({"jsonrpc": "2.0", **message})
        connection.request(method, "/mcp", body, {**HEADERS, **headers})
        yield connection.getresponse()


def began(port):
    """Begin a session, and return its headers."""
    hello = {"id": 0, "method": "initialize", "params": HELLO}
    with answered(port, "POST", {}, hello) as answer:
        answer.read()
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
    headers = {**session, "MCP-Protocol-Version": REVISION}
    with answered(port, "POST", headers, {"method": "notifications/initialized"}) as answer:
        assert answer.status == 202
    return headers


def lines_until(answer, text):
    """Return the lines of a stream to the first with *text*, or to its end."""
    lines = []
    while line := answer.readline().decode():
        lines.append(line.strip())
        if text in line:
            break
    return lines


def left_call(port, headers):
    """Call the tool and leave; return the first event of its stream."""
    call = {"id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
    with answered(port, "POST", headers, call) as answer:
        lines = lines_until(answer, "retry")
    assert "data:" in lines
    assert "retry: 1000" in lines
    return lines[0].removeprefix("id: ")


def resumed(port, headers, event):
    return answered(port, "GET", {**headers, "Last-Event-ID": event})


def test_a_client_that_lost_its_stream_gets_the_result_with_another(tmp_path):
    with served(tmp_path / "w") as (port, tools):
        headers = began(port)
        event = left_call(port, headers)
        tools.may_end.set()
        with resumed(port, headers, event) as answer:
            assert "the end of the wait" in lines_until(answer, "the end of the wait")[-1]
        with resumed(port, headers, "999") as answer:
            assert "the end of the wait" not in answer.read().decode()


def test_a_session_keeps_its_events_to_itself_and_takes_them_along(tmp_path):
    with served(tmp_path / "w") as (port, tools):
        first, second = began(port), began(port)
        event = left_call(port, first)
        tools.may_end.set()
        with resumed(port, first, event) as answer:
            lines_until(answer, "the end of the wait")
        with resumed(port, second, event) as answer:
            assert "the end of the wait" not in answer.read().decode()
        for headers in (first, second):
            with answered(port, "DELETE", headers) as answer:
                assert answer.status == 200
            with resumed(port, headers, event) as answer:
                assert answer.status == 404
        for _ in range(100):  # the tasks of the sessions end soon
            gc.collect()
            if not any(isinstance(each, Events) for each in gc.get_objects()):
                break
            anyio.run(anyio.sleep, 0.05)
        else:
            pytest.fail("the events of a session outlive it")


def note(number):
    return JSONRPCNotification(jsonrpc="2.0", method="note", params={"number": number})


async def replayed(events, after):
    sent = []

    async def send(event):
        sent.append(event.message.params["number"])

    return await events.replay_events_after(after, send), sent


def test_events_have_a_limit_in_number_and_in_bytes():
    async def use(events):
        names = [await events.store_event("a", note(number)) for number in range(5)]
        await events.store_event("b", note(5))
        return [await replayed(events, name) for name in names]

    by_number = anyio.run(use, Events(events=3))
    assert by_number == [(None, [])] * 3 + [("a", [4]), ("a", [])]
    size = len(note(0).model_dump_json(by_alias=True, exclude_unset=True)) + 1
    assert anyio.run(use, Events(size=3 * size)) == by_number
    assert anyio.run(use, Events(size=size - 1)) == [(None, [])] * 5
