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
from nanocoder_mcp.definitions import tool_name
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
        self.wanted_calls = context.get("toolCalls", ())

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
        """Make the calls that the suite asks for, or one of each tool; 1 if one of them failed."""
        options = {"approve": agree, "ask": first_choice, "settings": {"mcp": self.settings}}
        plugins = {"mcp": nanocoder_mcp}
        with opened(self.folder, plugins=plugins, interactive=True, **options) as (session, _):
            calls = [(tool_name("suite", each["name"]), each) for each in self.wanted_calls]
            pairs = [(name, without_nothing(each.get("arguments"))) for name, each in calls]
            tools = session.tools
            pairs = pairs or [(name, arguments_of(tools, tool)) for name, tool in tools.items()]
            return max([self.call(session, *pair) for pair in pairs if pair[0] in tools], default=0)

    def call(self, session, name, arguments):
        """Call a tool; 1 if it failed."""
        result, _ = called(session, name, arguments)
        while result.error_class == "login_needed":
            self.log_in()
            result, _ = called(session, name, arguments)
        print(name, result.output)
        return int(result.is_error)


def without_nothing(arguments):
    """Return arguments without those that have no value: a model leaves them out."""
    return {key: value for key, value in (arguments or {}).items() if value is not None}


def arguments_of(tools, tool):
    """Return arguments of each type; a schema that is wanted back is the first one as it came."""
    properties = tool.parameters["properties"]
    if properties.keys() == {"schema"}:
        focal = next(each for name, each in tools.items() if name != tool.name)
        return {"schema": focal.signature.json_schema}
    return {key: VALUES.get(value.get("type"), "text") for key, value in properties.items()}


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
