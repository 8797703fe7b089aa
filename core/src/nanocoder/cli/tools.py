"""`nanocoder tools`: each tool, who offers it, what it may do and what its definition costs."""

import argparse
from typing import Any

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.errors import UsageError
from nanocoder.tool import Tool


def run(arguments: argparse.Namespace) -> int:
    """List the tools."""
    host = Host(dialect=arguments.dialect)
    tools = list(host.plugins.tools().values())
    host.tell_news()
    for report in host.plugins.reports:
        host.say(str(report))
    if arguments.dialect:
        found = host.plugins.offered("dialects", arguments.dialect)
        if found is None:
            raise UsageError(f"there is no dialect {arguments.dialect!r}")
        # A dialect may know in which form its reference sends a tool; the protocol does not ask it.
        wire = getattr(found[1], "wire", dict)
        print_json([dict(wire(offer)) for offer in found[1].offer(tools)])
    elif arguments.output == "json":
        print_json([_data(tool) for tool in tools])
    elif tools:
        rows = [_row(tool) for tool in tools]
        print_table(("tool", "plugin", "version", "risk", "effects", "tokens"), rows)
    else:
        print_line("No tool is installed. One is: nanocoder plugins install tool-read")
    return 0


def _row(tool: Tool[..., Any]) -> tuple[Any, ...]:
    effects = " ".join(sorted(map(str, tool.effects))) or "undeclared"
    return tool.name, tool.plugin, tool.version, str(tool.risk), effects, tool.tokens


def _data(tool: Tool[..., Any]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "plugin": tool.plugin,
        "version": tool.version,
        "risk": str(tool.risk),
        "effects": sorted(map(str, tool.effects)),
        "composed_of": list(tool.composed_of),
        "tokens": tool.tokens,
        "parameters": tool.parameters,
    }
