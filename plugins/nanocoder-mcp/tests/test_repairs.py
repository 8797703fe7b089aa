"""One definition that breaks the protocol never takes the others of its server away."""

import http.server
import json
import threading

import pytest
from nanocoder_mcp.repairs import sound_tool
from nanocoder_mcp.server import server_of
from nanocoder_testing.playing import called

pytestmark = pytest.mark.timeout(60)
SAY = {"text": "hi"}
REPAIRED = {
    "no schema": {},
    "null": {"inputSchema": None},
    "empty schema": {"inputSchema": {}},
    "no type": {"inputSchema": {"properties": {"a": {"type": "string"}}}},
    "null properties": {"inputSchema": {"type": "object", "properties": None}},
    "required is a text": {"inputSchema": {"type": "object", "required": "a"}},
    "required is a number": {"inputSchema": {"type": "object", "required": 3}},
    "a choice": {"inputSchema": {"anyOf": [{"properties": {"a": {"type": "string"}}}]}},
    "title": {"inputSchema": {"type": "object"}, "title": 7},
    "description": {"inputSchema": {"type": "object"}, "description": ["x"]},
    "annotations": {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}},
    "icons": {"inputSchema": {"type": "object"}, "icons": "none", "outputSchema": []},
}
LEFT_OUT = {
    "another type": {"inputSchema": {"type": "string"}},
    "no such type": {"inputSchema": {"type": "object", "properties": {"a": {"type": "int"}}}},
    "a text": {"inputSchema": "object"},
    "a list": {"inputSchema": []},
    "a property is a text": {"inputSchema": {"type": "object", "properties": {"a": "string"}}},
    "a property is null": {"inputSchema": {"type": "object", "properties": {"a": None}}},
    "a property is a list": {"inputSchema": {"type": "object", "properties": {"a": ["string"]}}},
    "a draft is a number": {"inputSchema": {"type": "object", "$schema": 7}},
    "no such support": {"execution": {"taskSupport": "often"}},
}


@pytest.mark.rows(6)
@pytest.mark.parametrize("odd", REPAIRED.values(), ids=REPAIRED)
def test_a_definition_of_plain_meaning_is_repaired(place, odd):
    server = place.add("lists", json.dumps({"name": "odd", **odd}))
    listing = place.listing(server)
    assert [tool["original"] for tool in listing.tools] == ["echo", "odd"]
    assert listing.left_out == {}
    assert listing.tools[1]["schema"]["type"] == "object"
    with place.session() as session:
        assert not called(session, "mcp_lists_echo", SAY)[0].is_error
        assert not called(session, "mcp_lists_odd", {"a": "b"})[0].is_error


@pytest.mark.parametrize("odd", LEFT_OUT.values(), ids=LEFT_OUT)
def test_one_without_a_meaning_is_left_out_by_its_name(place, odd):
    listing = place.listing(place.add("lists", json.dumps({"name": "odd", **odd})))
    assert [tool["original"] for tool in listing.tools] == ["echo"]
    assert [*listing.left_out] == ["odd"]


@pytest.mark.parametrize("odd", ["text", 7, None, {"name": 7}, {}, []])
def test_something_that_is_no_tool_is_left_out(place, odd):
    listing = place.listing(place.add("lists", json.dumps(odd)))
    assert [tool["original"] for tool in listing.tools] == ["echo"]
    assert [*listing.left_out] == ["(no name)"]


def test_the_arguments_of_every_branch_of_a_choice_can_be_given():
    branches = [{"properties": {name: {"type": "string"}}, "required": [name]} for name in "ab"]
    schema = sound_tool({"name": "n", "inputSchema": {"oneOf": branches}})["inputSchema"]
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    }


def test_a_sound_definition_stays_as_it_is():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    hints = {"readOnlyHint": True}
    tool = {"name": "n", "description": "d", "inputSchema": schema, "annotations": hints}
    assert sound_tool(tool) == tool


def test_values_with_tabs_and_line_ends_can_be_sent(place):
    values = ["a\tb", "a\rb", "a\nb", " a ", "a\r\n"]
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "enum": values, "default": values[0]}},
    }
    place.add("lists", json.dumps({"name": "odd", "inputSchema": schema}))
    with place.session() as session:
        for value in values:
            result, _ = called(session, "mcp_lists_odd", {"text": value})
            assert not result.is_error, value


def test_a_server_at_an_address_is_repaired_too(place):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answers = {
                "initialize": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "page", "version": "1"},
                },
                "tools/list": {
                    "tools": [{"name": "odd", "title": 7}, {"name": "bad", "inputSchema": 7}]
                },
            }
            answer = answers.get(asked["method"])
            body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": answer}).encode()
            self.send_response(200 if answer else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) if answer else 0))
            self.end_headers()
            self.wfile.write(body if answer else b"")

        def do_GET(self):
            self.send_error(405)

        def log_message(self, *_):
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        place.tables["page"] = {"url": f"http://127.0.0.1:{page.server_port}/"}
        listing = place.listing(server_of("page", place.tables["page"]))
        page.shutdown()
    assert [tool["original"] for tool in listing.tools] == ["odd"]
    assert [*listing.left_out] == ["bad"]
