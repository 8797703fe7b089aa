"""A server behind `nanocoder mcp serve`: what it asks reaches the client, under our rules."""

import sys

import anyio
import mcp_types
import pytest
import repository
from command_line import COMMAND
from mcp import Client, StdioServerParameters

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.contract("I24"),
    pytest.mark.contract("I25"),
]
PROGRAM = repository.ROOT / "plugins/nanocoder-mcp/tests/programs/server.py"
TRIP = {"name": "Ada", "window": True, "meal": "rice", "bags": 2}


class Person:
    """What a client's person fills in, and what its model answers."""

    def __init__(self):
        self.forms, self.prompts = [], []

    async def fill(self, _context, params):
        self.forms.append(params)
        return mcp_types.ElicitResult(action="accept", content=TRIP)

    async def think(self, _context, params):
        self.prompts.append(params.messages[0].content.text)
        content = mcp_types.TextContent(type="text", text="Paris")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="theirs")


@pytest.fixture
def ask(nanocoder):
    """Return a function that calls a tool of a server of *kind* as a client of ours."""

    def call(kind, person, *options):
        start = [sys.executable, "-S", str(PROGRAM), kind]
        added = nanocoder("mcp", "add", kind, "--yes", *options, "--", *start)
        assert added.returncode == 0, added.stderr
        tools = f"mcp_{kind}_echo"
        serve = ["mcp", "serve", "--mode", "auto", "--tools", tools]
        server = StdioServerParameters(
            command=COMMAND, args=serve, env=nanocoder.environment, cwd=nanocoder.cwd
        )

        async def use():
            async with Client(
                server,
                mode="legacy",
                elicitation_callback=person.fill,
                sampling_callback=person.think,
            ) as client:
                return await client.call_tool(tools, {"text": "hi"})

        return anyio.run(use).content[0].text

    return call


def test_the_form_of_a_server_is_filled_in_whole_by_the_clients_person(ask):
    person = Person()
    output = ask("asks", person)
    (form,) = person.forms
    assert form.message == "The MCP server asks asks: Who travels?"
    assert form.requested_schema["properties"].keys() == TRIP.keys()
    for name in ('"name": "Ada"', '"window": true', '"bags": 2', '"action": "accept"'):
        assert name in output


def test_a_server_is_answered_by_the_model_of_the_client(ask):
    person = Person()
    assert "Paris" in ask("samples", person, "--sampling")
    (prompt,) = person.prompts
    assert prompt.startswith('The MCP server "samples" asks for an answer to what follows.')
    assert person.forms == []


def test_a_rule_keeps_a_server_from_the_model_of_the_client(ask, nanocoder):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["mcp_sample"]\n')
    person = Person()
    assert "Paris" not in ask("samples", person, "--sampling")
    assert person.prompts == []
