"""`nanocoder tools`: each tool, its plugin, what it may do and what its definition costs."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from nanocoder_schema import did_you_mean

from nanocoder.cli.command_host import CommandHost
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.errors import UsageError
from nanocoder.session.api import find_dialect
from nanocoder.tools.tool import Tool
from nanocoder.values import manifest_of


def run(arguments: argparse.Namespace) -> int:
    """List the tools, or show one with its parameters."""
    host = CommandHost(arguments.cwd, dialect=arguments.dialect)
    tools = list(host.plugins.tools().values())
    if arguments.tool:
        tools = [_named(host, arguments.tool)]
    host.tell_news()
    for report in host.plugins.reports:
        host.say(str(report))
    if arguments.dialect:
        dialect = find_dialect(host.plugins, arguments.dialect)
        # A dialect may know in which form its reference sends a tool; the protocol does not ask it.
        wire = getattr(dialect, "wire", dict)
        print_json([dict(wire(offer)) for offer in dialect.offer(tools)])
    elif arguments.output == "json":
        print_json([_data(tool) for tool in tools])
    elif arguments.tool:
        _print_tool(tools[0])
    elif tools:
        rows = [_row(tool) for tool in tools]
        print_table(("tool", "plugin", "version", "risk", "effects", "tokens"), rows)
    else:
        print_line("No tool is installed. To add one: nanocoder plugins install tool-read")
    return 0


def _named(host: CommandHost, name: str) -> Tool[..., Any]:
    """Return the tool called *name*; raises UsageError."""
    tools = host.plugins.tools()
    if name not in tools:
        why = host.plugins.why_missing(name)
        hint = f": {why}" if why else did_you_mean(name, tools)
        raise UsageError(f"there is no tool {name!r}{hint}")
    return tools[name]


def _print_tool(tool: Tool[..., Any]) -> None:
    """Print what a tool does and what it takes."""
    name, plugin, version, risk, effects, tokens = _row(tool)
    print_line(f"{name} ({plugin} {version}): risk {risk}, effects {effects}, {tokens} tokens")
    print_line()
    print_line(tool.description)
    print_line()
    rows = list(_parameters(tool.parameters, ""))
    if rows:
        print_table(("parameter", "type", "description"), rows)
    else:
        print_line("It takes no parameters.")


def _parameters(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and meaning of each parameter, those inside of others after them."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        kind = field.get("type", "any")
        words = " or ".join(kind) if isinstance(kind, list) else str(kind)
        if choices := field.get("enum"):
            words = ", ".join(map(str, choices))
        if name not in required:
            words += f"; default {field['default']!r}" if "default" in field else "; optional"
        yield f"{prefix}{name}", words, field.get("description", "")
        inner = field.get("items", field)
        if isinstance(inner, dict) and inner.get("properties"):
            mark = "[]" if "items" in field else ""
            yield from _parameters(inner, f"{prefix}{name}{mark}.")


def _row(tool: Tool[..., Any]) -> tuple[Any, ...]:
    effects = " ".join(sorted(map(str, tool.effects))) or "undeclared"
    return tool.name, tool.plugin, tool.version, str(tool.risk), effects, tool.tokens


def _data(tool: Tool[..., Any]) -> dict[str, Any]:
    return {
        **manifest_of(tool),
        "plugin": tool.plugin,
        "version": tool.version,
        "tokens": tool.tokens,
        "parameters": tool.parameters,
    }
