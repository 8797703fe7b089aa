"""The page that shows what a model reads first: the system prompt and the definitions of tools."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import repository
from nanocoder import Plugins, SessionInfo, Tool, ToolDefinition, count_tokens
from nanocoder.session.model_view import ToolList, system_prompt

PAGE = repository.ROOT / "docs/reference/prompt.md"
FOLDER = Path("/home/ada/project")
HEAD = """# What a model reads

Written from the code by `nox -s reference`; a test compares the two. It is what a model with the
profile `full` gets of the default set before your prompt, in the mode `ask`, at a terminal, with a
sandbox; what plugins and your `AGENTS.md` add comes behind it. The numbers are estimates of tokens
(`nanocoder.count_tokens`). A request carries the definitions of the tools that are always listed
and the names of the others, which `tool_search` brings. A tool that needs what is not there is in
neither: `ask_user` without a person, `web_search` without a search engine, `skill` without skills.
"""


@cache
def installed() -> Plugins:
    """Return the plugins of this environment: all of the repository."""
    return Plugins.installed()


def tools_of_the_default_set() -> list[Tool[..., object]]:
    """Return the tools of the plugins that the default set depends on."""
    (chosen,) = (one for one in repository.plugins() if one.name.endswith("set-default"))
    names = set(chosen.required)
    plugins = installed()
    owner = {name: entry.distribution for name, entry in plugins.entries.items()}
    return [one for one in plugins.tools().values() if owner[one.plugin] in names]


def definitions() -> list[ToolDefinition]:
    """Return the definitions of the default set, those that are always listed first."""
    names = {tool.name for tool in tools_of_the_default_set()}
    tools = ToolList(installed(), has=lambda tool: tool.name in names)
    found = tools.definitions(SessionInfo("page", FOLDER), lambda *_: True)
    return sorted(found, key=lambda one: (not one.always_listed, one.name))


def prompt() -> str:
    """Return the system prompt of a session at a terminal, on a day of its own."""
    text = system_prompt(SessionInfo("page", FOLDER, answered=True), (), is_sandboxed=True)
    return re.sub(r"\d{4}-\d\d-\d\d", "2030-01-31", text)


def page() -> str:
    """Return docs/reference/prompt.md as it has to be."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield HEAD
    yield f"## The system prompt ({count_tokens(prompt())})\n"
    yield f"```text\n{prompt()}\n```\n"
    for is_listed, heading in ((True, "Always listed"), (False, "By name, until searched for")):
        found = [one for one in definitions() if one.always_listed is is_listed]
        tokens = sum(map(_tokens, found))
        yield f"## {heading} ({tokens:,})\n"
        for one in found:
            yield f"### `{one.name}` ({_tokens(one)})\n"
            yield f"{one.description}\n"
            yield f"```json\n{_schema(one)}\n```\n"


def _schema(one: ToolDefinition) -> str:
    """Return the schema as it is sent, but each parameter on a line of its own."""
    rest = {key: value for key, value in one.parameters.items() if key != "properties"}
    head = json.dumps(rest, separators=(",", ":"))[:-1]
    properties = one.parameters.get("properties", {})
    lines = (
        f" {json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}"
        for name, value in properties.items()
    )
    return head + ',"properties":{\n' + ",\n".join(lines) + "\n}}"


def _tokens(one: ToolDefinition) -> int:
    return count_tokens(json.dumps([one.name, one.description, dict(one.parameters)]))
