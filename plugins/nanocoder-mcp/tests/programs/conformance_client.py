"""The client under the official conformance suite: it uses a server at the address of its argument.

`conformance client --command "python conformance_client.py" --scenario tools_call` runs it.
"""

import json
import os
import sys
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import nanocoder_mcp
from nanocoder import ToolError
from nanocoder_mcp.accepting import accept, ask_server
from nanocoder_mcp.login import log_in
from nanocoder_mcp.server import server_of
from nanocoder_mcp.settings import Settings
from nanocoder_testing import opened
from nanocoder_testing.playing import agree, called, first_choice

VALUES = {"string": "text", "number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}
DOCUMENT = "https://conformance-test.local/client-metadata.json"
MAX_LOGINS = 3
"""A person would not log in more often."""


class Person:
    """Adds the server, logs in where it asks for it, and calls its tools."""

    def __init__(self, url, context):
        scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
        oauth = {"client_id": DOCUMENT} if scenario == "auth/basic-cimd" else {}
        if "client-credentials" in scenario:
            oauth = granted(url, context)
        elif "client_id" in context:
            oauth = {"client_id": context["client_id"], "client_secret_variable": "SUITE_SECRET"}
            os.environ["SUITE_SECRET"] = context.get("client_secret", "")
        table = {"url": url, **({"oauth": oauth} if oauth else {})}
        self.folder = Path(tempfile.mkdtemp())
        self.server = server_of("suite", table)
        self.settings = Settings({"suite": table})
        self.logins = 0

    def log_in(self):
        """Log in as a person does who follows the line that they read."""
        self.logins += 1
        if self.logins > MAX_LOGINS:
            sys.exit("it asks for a login again and again")
        log_in(self.server, self.folder, lambda url: urllib.request.urlopen(url).close())

    def add(self):
        """Accept what the server offers."""
        while True:
            try:
                return accept(self.server, *ask_server(self.folder, self.settings, self.server))
            except ToolError as error:
                if error.error_class != "login_needed":
                    raise
                self.log_in()

    def call_all(self):
        """Call each of its tools; 1 if one of them failed."""
        options = {"approve": agree, "ask": first_choice, "settings": {"mcp": self.settings}}
        plugins = {"mcp": nanocoder_mcp}
        with opened(self.folder, plugins=plugins, interactive=True, **options) as (session, _):
            for name, tool in session.tools.items():
                properties = tool.parameters["properties"].items()
                arguments = {
                    key: VALUES.get(value.get("type"), "text") for key, value in properties
                }
                result, _ = called(session, name, arguments)
                while result.error_class == "login_needed":
                    self.log_in()
                    result, _ = called(session, name, arguments)
                print(name, result.output)
                if result.is_error:
                    return 1
        return 0


def granted(url, context):
    """Return the table of a client that gets its tokens without a person."""
    path = f"/.well-known/oauth-protected-resource{urlsplit(url).path}"
    page = urlsplit(url)._replace(path=path).geturl()
    with urllib.request.urlopen(page) as reply:
        issuer = json.load(reply)["authorization_servers"][0]
    table = {"client_id": context["client_id"], "grant": "client_credentials", "issuer": issuer}
    if "private_key_pem" in context:
        os.environ["SUITE_KEY"] = context["private_key_pem"]
        algorithm = context.get("signing_algorithm", "ES256")
        return {**table, "private_key_variable": "SUITE_KEY", "algorithm": algorithm}
    os.environ["SUITE_SECRET"] = context["client_secret"]
    return {**table, "client_secret_variable": "SUITE_SECRET"}


def main() -> int:
    """Use the server at the address that the suite gives."""
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    person = Person(sys.argv[-1], json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")))
    person.add()
    return person.call_all()


sys.exit(main())
