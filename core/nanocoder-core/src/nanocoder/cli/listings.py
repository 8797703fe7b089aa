"""List what is installed and configured: `nanocoder tools`, `plugins` and `config`."""

import json
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nanocoder_schema import did_you_mean

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.config.document import project_file
from nanocoder.config.places import user_config_dir
from nanocoder.errors import PersonError, UsageError
from nanocoder.plugins import Entry, Plugins
from nanocoder.plugins.discovery import PREFIX, differences, installed_now, read_lock, write_lock
from nanocoder.tools.tool import Tool
from nanocoder.values import manifest_of

OFFERED: Final = ("tools", "providers", "commands", "screens", "dialects", "sandboxes", "stores")
TO_ADD = "To add the usual plugins: nanocoder plugins install set-default"


def tools(arguments: Namespace, host: Host) -> int:
    """List the tools, or show one with its parameters."""
    listed = list(host.plugins.tools().values())
    if arguments.tool:
        listed = [_named(host, arguments.tool)]
    host.tell_news()
    for report in host.plugins.reports:
        host.say(str(report))
    if arguments.dialect:
        from nanocoder.session.api import find_dialect  # few listings are in a dialect

        dialect = find_dialect(host.plugins, arguments.dialect)
        # A dialect may know in which form its reference sends a tool; the protocol does not ask it.
        wire = getattr(dialect, "wire", dict)
        print_json([dict(wire(offer)) for offer in dialect.offer(listed)])
    elif arguments.output == "json":
        print_json([_tool_data(tool) for tool in listed])
    elif arguments.tool:
        _print_tool(listed[0])
    elif listed:
        head = ("tool", "plugin", "version", "risk", "effects", "tokens")
        print_table(head, [_tool_row(tool) for tool in listed])
    else:
        print_line(f"No tool is installed. {TO_ADD}")
    return 0


def settings(arguments: Namespace, host: Host) -> int:
    """Print every value and where it comes from."""
    rows = [
        (key, value, str(origin))
        for key, value, origin in host.config.items(host.settings_classes())
    ]
    for notice in host.config.notices:
        host.say(notice)
    if arguments.output == "json":
        print_json([{"key": key, "value": value, "origin": origin} for key, value, origin in rows])
        return 0
    table = [(key, _as_json(value), origin) for key, value, origin in rows]
    print_table(("key", "value", "from"), table)
    print_line()
    print_table(("file", "path", "status"), _files(host))
    return 0


def where(arguments: Namespace, host: Host) -> int:
    """Print where one value comes from."""
    key, classes = arguments.key, host.settings_classes()
    origin = host.config.where(key, classes)
    for notice in host.config.notices:
        if f": {key}: " in notice:
            host.say(notice)
    # The keys of a plugin that is not installed have no value: only the plugin knows its defaults.
    values = {name: value for name, value, _ in host.config.items(classes) if name == key}
    if arguments.output == "json":
        value = {"value": values[key]} if values else {}
        print_json({"key": key, "origin": str(origin), **value})
    else:
        print_line(f"{key}{f' = {_as_json(values[key])}' if values else ''} ({origin})")
    return 0


def path(arguments: Namespace, host: Host) -> int:
    """Print the path of the person's file, or of the project's."""
    print_line(str(project_file(host.cwd) if arguments.project else host.config_path))
    return 0


def _named(host: Host, name: str) -> Tool[..., Any]:
    """Return the tool called *name*; raises UsageError."""
    offered = host.plugins.tools()
    if name not in offered:
        why = host.plugins.why_missing(name)
        hint = f": {why}" if why else did_you_mean(name, offered)
        raise UsageError(f"there is no tool {name!r}{hint}")
    return offered[name]


def _print_tool(tool: Tool[..., Any]) -> None:
    """Print what a tool does and what it takes."""
    name, plugin, version, risk, effects, tokens = _tool_row(tool)
    print_line(f"{name} ({plugin} {version}): risk {risk}, effects {effects}, {tokens} tokens")
    print_line(f"\n{tool.description}\n")
    if rows := list(_parameters(tool.parameters, "")):
        print_table(("parameter", "type", "description"), rows)
    else:
        print_line("It takes no parameters.")


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


def _tool_row(tool: Tool[..., Any]) -> tuple[Any, ...]:
    effects = " ".join(sorted(map(str, tool.effects))) or "undeclared"
    return tool.name, tool.plugin, tool.version, str(tool.risk), effects, tool.tokens


def _tool_data(tool: Tool[..., Any]) -> dict[str, Any]:
    names = ("plugin", "version", "tokens", "parameters")
    return {**manifest_of(tool), **{name: getattr(tool, name) for name in names}}


def _files(host: Host) -> Sequence[tuple[str, str, str]]:
    """Return which files count here, and where those that are missing would be."""
    try:
        user = str(host.config_path)
        mine = "read" if os.path.lexists(user) else "none yet; `nanocoder config set` creates it"
    except PersonError as error:
        user, mine = "none", str(error)
    project = project_file(host.cwd)
    state = "trusted" if host.config.trusted else "not trusted: it can only tighten"
    theirs = state if os.path.lexists(project) else "none"
    return [("yours", user, mine), ("this project's", str(project), theirs)]


def _as_json(value: Any) -> str:
    """Return a value nearly as config.toml has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def plugins(arguments: Namespace, host: Host) -> int:
    """List the plugins, or show those that are named."""
    installed = host.plugins
    names = sorted({name.removeprefix(PREFIX) for name in arguments.names} or installed.entries)
    _refuse_unknown(names, installed)
    rows = [_data(installed.entries[name], installed.set_aside.get(name, "")) for name in names]
    if arguments.output == "json":
        print_json(rows)
    elif arguments.names:
        for row in rows:
            _print_plugin(row)
    else:
        print_table(("plugin", "version", "package", "offers"), [_row(row) for row in rows])
        if not rows:
            print_line(f"No plugin is installed. {TO_ADD}")
    return 0


def _refuse_unknown(names: Sequence[str], plugins: Plugins) -> None:
    """Raise UsageError for a name that no installed plugin has."""
    for name in names:
        if name not in plugins.entries:
            why = plugins.set_aside.get(name)
            hint = did_you_mean(name, plugins.entries, "; see `nanocoder plugins list`")
            problem = f"plugin {name!r} is set aside: {why}" if why else f"no plugin {name!r}{hint}"
            raise UsageError(problem)


def _print_plugin(row: Mapping[str, Any]) -> None:
    """Print all that one plugin is and offers."""
    print_line(f"{row['name']} {row['version']} ({row['package']})")
    if row["set_aside"]:
        print_line(f"  set aside: {row['set_aside']}")
    for line in _offers(row):
        print_line(f"  {line}")
    print_line(f"  hooks: {', '.join(row['hooks']) or 'none'}")
    if row["policy"]:
        print_line("  policy: yes; nanocoder does not start without it")


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    offers = [*_offers(row), *(["policy"] if row["policy"] else [])]
    problem = row["set_aside"] and f"set aside: {row['set_aside']}"
    return row["name"], row["version"], row["package"], problem or "; ".join(offers or row["hooks"])


def _offers(row: Mapping[str, Any]) -> list[str]:
    return [f"{what}: {', '.join(row[what])}" for what in OFFERED if row[what]]


def _data(entry: Entry, problem: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "version": entry.version,
        "package": entry.distribution,
        "hooks": list(entry.hooks),
        "policy": entry.is_policy,
        "set_aside": problem,
        **{what: [offer["name"] for offer in entry.offers(what)] for what in OFFERED},
    }


def lock(_: Namespace, _host: Host) -> int:
    """Record what is installed as trusted."""
    path = user_config_dir() / "plugins.lock"
    now = installed_now()
    write_lock(path, now)
    count = sum(bool(locked.module) for locked in now.values())
    print_line(f"{path}: {count} plugins and {len(now) - count} of their libraries are locked.")
    return 0


def sync(_: Namespace, _host: Host) -> int:
    """Compare what is installed with the lock; returns 1 where they differ."""
    changed = differences(read_lock(user_config_dir() / "plugins.lock"), installed_now())
    for name, difference in changed.items():
        print_line(f"{name} {difference}")
    if not changed:
        print_line("Everything installed matches the lock.")
    return 1 if changed else 0
