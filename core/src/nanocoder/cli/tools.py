"""`nanocoder tools`: each tool, who offers it, what it may do and what its definition costs."""

import argparse
from typing import Any

from attrs import asdict

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.config import Wrap
from nanocoder.opening import dialect_of
from nanocoder.tool import Tool


def run(arguments: argparse.Namespace) -> int:
    """List the tools."""
    host = Host(dialect=arguments.dialect)
    tools = list(host.plugins.tools().values())
    host.tell_news()
    for report in host.plugins.reports:
        host.say(str(report))
    if arguments.dialect:
        dialect = dialect_of(host.plugins, arguments.dialect)
        # A dialect may know in which form its reference sends a tool; the protocol does not ask it.
        wire = getattr(dialect, "wire", dict)
        print_json([dict(wire(offer)) for offer in dialect.offer(tools)])
    elif arguments.output == "json":
        print_json([_data(tool, host.config.tool_wraps.get(tool.name)) for tool in tools])
    elif tools:
        rows = [_row(tool) for tool in tools]
        print_table(("tool", "plugin", "version", "risk", "effects", "tokens"), rows)
        wraps = {name: _said(wrap) for name, wrap in host.config.tool_wraps.items()}
        for name in sorted(wraps.keys() & {tool.name for tool in tools}):
            print_line(f"{name}: {wraps[name]} ({host.config.where_wrapped(name)})")
    else:
        print_line("No tool is installed. One is: nanocoder plugins install tool-read")
    return 0


def _row(tool: Tool[..., Any]) -> tuple[Any, ...]:
    effects = " ".join(sorted(map(str, tool.effects))) or "undeclared"
    return tool.name, tool.plugin, tool.version, str(tool.risk), effects, tool.tokens


def _said(wrap: Wrap) -> str:
    pause = f", {wrap.wait_s:g} s apart" if wrap.wait_s else ""
    said = {
        f"tried {wrap.retry} times{pause}": wrap.retry > 1,
        f"at most {wrap.timeout_s:g} s": wrap.timeout_s,
        f"then {wrap.fallback}": wrap.fallback,
    }
    return "; ".join(text for text, is_so in said.items() if is_so) or "as it is"


def _data(tool: Tool[..., Any], wrap: Wrap | None) -> dict[str, Any]:
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
        "wrap": None if wrap is None else asdict(wrap),
    }
