"""`nanocoder tools` and `plugins list` in full: single tools and plugins, and dialects.

The core lists all of them; it passes its rows to this module for anything beyond.
"""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any, Final

from nanocoder import Host, UsageError, did_you_mean, find_offer
from nanocoder_kit_files.table import print_table

PREFIX: Final = "nanocoder-"
OFFERED: Final = ("tools", "providers", "commands", "screens", "dialects", "sandboxes", "stores")


def tools(arguments: Namespace, host: Host) -> int:
    """Show one tool with its parameters; or in a dialect that one, or all."""
    rows = {row["name"]: row for row in arguments.rows}
    if arguments.tool and arguments.tool not in rows:
        why = host.plugins.why_missing(arguments.tool)
        hint = f": {why}" if why else did_you_mean(arguments.tool, rows)
        raise UsageError(f"there is no tool {arguments.tool!r}{hint}")
    names = [arguments.tool] if arguments.tool else list(rows)
    if arguments.dialect:
        host.print_json(_in_dialect(host, arguments.dialect, names))
    elif arguments.output == "json":
        host.print_json([rows[name] for name in names])
    else:
        _print_tool(host, rows[arguments.tool])
    return 0


def _in_dialect(host: Host, name: str, names: list[str]) -> list[dict[str, Any]]:
    dialect = find_offer(host.plugins, "dialects", "dialect", name)[1]
    # A dialect may know in which form its reference sends a tool; the protocol does not ask it.
    wire = getattr(dialect, "wire", dict)
    listed = [host.plugins.tools()[each] for each in names]
    return [dict(wire(offer)) for offer in dialect.offer(listed)]


def _print_tool(host: Host, row: Mapping[str, Any]) -> None:
    """Print the description and the parameters of a tool."""
    effects = " ".join(sorted(row["effects"])) or "undeclared"
    host.print_line(
        f"{row['name']} ({row['plugin']} {row['version']}): risk {row['risk']},"
        f" effects {effects}, {row['tokens']} tokens"
    )
    host.print_line(f"\n{row['description']}\n")
    if parameters := list(_parameters(row["parameters"], "")):
        print_table(("parameter", "type", "description"), parameters)
    else:
        host.print_line("It takes no parameters.")


def _parameters(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and meaning of each parameter, those inside of others after them."""
    for name, field in schema.get("properties", {}).items():
        kind = field.get("type", "any")
        words = " or ".join(kind) if isinstance(kind, list) else str(kind)
        if choices := field.get("enum"):
            words = ", ".join(map(str, choices))
        if name not in schema.get("required", ()):
            words += f"; default {field['default']!r}" if "default" in field else "; optional"
        yield f"{prefix}{name}", words, field.get("description", "")
        inner = field.get("items", field)
        if isinstance(inner, dict) and inner.get("properties"):
            mark = "[]" if "items" in field else ""
            yield from _parameters(inner, f"{prefix}{name}{mark}.")


def plugins(arguments: Namespace, host: Host) -> int:
    """Show the plugins that are named, in full."""
    rows = {row["name"]: row for row in arguments.rows}
    packages = {row["package"] for row in arguments.rows} & {*arguments.names}
    named = {row["name"] for row in arguments.rows if row["package"] in packages}
    names = sorted(named | {name.removeprefix(PREFIX) for name in {*arguments.names} - packages})
    for name in names:
        if name not in rows:
            why = host.plugins.set_aside.get(name)
            hint = did_you_mean(name, rows, "; see `nanocoder plugins list`")
            problem = f"plugin {name!r} is disabled: {why}" if why else f"no plugin {name!r}{hint}"
            raise UsageError(problem)
    if arguments.output == "json":
        host.print_json([rows[name] for name in names])
        return 0
    for name in names:
        _print_plugin(host, rows[name])
    return 0


def _print_plugin(host: Host, row: Mapping[str, Any]) -> None:
    """Print all that one plugin is and offers."""
    host.print_line(f"{row['name']} {row['version']} ({row['package']})")
    if row["set_aside"]:
        host.print_line(f"  disabled: {row['set_aside']}")
    for what in OFFERED:
        if row[what]:
            host.print_line(f"  {what}: {', '.join(row[what])}")
    host.print_line(f"  hooks: {', '.join(row['hooks']) or 'none'}")
    if row["policy"]:
        host.print_line("  policy: yes; nanocoder does not start without it")
