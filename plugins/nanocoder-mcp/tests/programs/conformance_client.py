"""The client under the official conformance suite: it uses a server at the address of its argument.

`conformance client --command "python conformance_client.py" --scenario tools_call` runs it.
"""

import os
import sys
import tempfile
from pathlib import Path

import nanocoder_mcp
from nanocoder_mcp.accepting import accept, ask_server
from nanocoder_mcp.server import server_of
from nanocoder_mcp.settings import Settings
from nanocoder_testing import opened
from nanocoder_testing.playing import agree, called, first_choice

VALUES = {"string": "text", "number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}


def main() -> int:
    """Accept what the server offers and call each of its tools; 1 if one of them failed."""
    table = {"url": sys.argv[-1]}
    settings = Settings({"suite": table})
    folder = Path(tempfile.mkdtemp())
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    server = server_of("suite", table)
    accept(server, *ask_server(folder, settings, server))
    options = {"approve": agree, "ask": first_choice, "settings": {"mcp": settings}}
    with opened(folder, plugins={"mcp": nanocoder_mcp}, interactive=True, **options) as (
        session,
        _,
    ):
        for name, tool in session.tools.items():
            properties = tool.parameters["properties"].items()
            arguments = {key: VALUES.get(value.get("type"), "text") for key, value in properties}
            result, _ = called(session, name, arguments)
            print(name, result.output)
            if result.is_error:
                return 1
    return 0


sys.exit(main())
