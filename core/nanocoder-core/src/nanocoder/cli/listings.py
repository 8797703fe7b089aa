"""List what is installed and configured: `nanocoder tools`, `plugins` and `config`."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

from nanocoder_config import state_dir, user_config_dir
from nanocoder_console import print_json, print_line, print_table
from nanocoder_discovery import differences, installed_now, read_lock, record_in, write_lock

from nanocoder.cli.host import Host
from nanocoder.plugins import Entry
from nanocoder.values import manifest_of

OFFERED: Final = ("tools", "providers", "commands", "screens", "dialects", "sandboxes", "stores")
OWN: Final = ("plugin", "version", "tokens", "parameters")
"""Fields of a tool that are not part of its definition."""
Row = tuple[Any, ...]
Rows = list[dict[str, Any]]


def tools(arguments: Namespace, host: Host) -> int:
    """List the tools; a plugin shows one with its parameters, or all in a dialect."""
    tools = host.plugins.tools().values()
    rows = [{**manifest_of(tool), **{name: getattr(tool, name) for name in OWN}} for tool in tools]
    host.tell_news()
    host.tell_reports()
    if arguments.tool or arguments.dialect:
        return host.hand_over("tools", arguments, rows=rows)
    head = ("tool", "plugin", "risk", "tokens", "effects")
    return _show(arguments.output, rows, head, _tool_row, "No tool is installed.")


def _show(form: str, rows: Rows, head: Row, cells: Callable[[Any], Row], lack: str = "") -> int:
    """Print *rows* as JSON, or as a table of their *cells*; *lack* if there are none."""
    if form == "json":
        print_json(rows)
    elif rows:
        print_table(head, [*map(cells, rows)])
    else:
        print_line(f"{lack} To add the usual plugins: nanocoder plugins install set-default")
    return 0


def settings(arguments: Namespace, host: Host) -> int:
    """Print every setting with its value and origin."""
    items = host.config.items(host.settings_classes())
    rows = [{"key": key, "value": value, "origin": str(origin)} for key, value, origin in items]
    host.tell_news()
    host.tell_reports()
    return _show(arguments.output, rows, ("key", "value", "from"), lambda row: tuple(row.values()))


def _tool_row(row: Mapping[str, Any]) -> Row:
    effects = " ".join(sorted(row["effects"])) or "undeclared"
    return row["name"], row["plugin"], row["risk"], row["tokens"], effects


def plugins(arguments: Namespace, host: Host) -> int:
    """List the plugins; a plugin shows some of them in full."""
    installed = host.plugins
    entries = sorted(installed.entries.items())
    rows = [_plugin_data(entry, installed.set_aside.get(name, "")) for name, entry in entries]
    if arguments.names:
        return host.hand_over("plugins list", arguments, rows=rows)
    head = ("plugin", "version", "offers")
    return _show(arguments.output, rows, head, _plugin_row, "No plugin is installed.")


def _plugin_row(row: Mapping[str, Any]) -> Row:
    groups = {what: dict.fromkeys(name.split()[0] for name in row[what]) for what in OFFERED}
    offers = [f"{what}: {', '.join(names)}" for what, names in groups.items() if names]
    offers += ["policy"] if row["policy"] else []
    parts = [f"disabled: {row['set_aside']}"] if row["set_aside"] else offers or ["hooks only"]
    if row["package"] != f"nanocoder-{row['name']}":
        parts.append(f"package: {row['package']}")
    return row["name"], row["version"], "; ".join(parts)


def _plugin_data(entry: Entry, problem: str) -> dict[str, Any]:
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
    """Write the lock file of all installed plugins."""
    path = user_config_dir() / "plugins.lock"
    now = installed_now(files=str(path.parent / "plugins"))
    write_lock(path, now)
    record_in(state_dir()).unlink(missing_ok=True)  # missing policies are approved, too
    count = sum(bool(locked.module) for locked in now.values())
    print_line(f"{path}: {count} plugins and {len(now) - count} of their libraries are locked.")
    return 0


def sync(arguments: Namespace, host: Host) -> int:
    """Compare the installed plugins with the lock file; return 1 if they differ.

    If the person agrees, a plugin installs the missing ones as locked.
    """
    path = user_config_dir() / "plugins.lock"
    locked, now = read_lock(path), installed_now(files=str(path.parent / "plugins"))
    changed = differences(locked, now)
    for name, difference in changed.items():
        print_line(f"{name} {difference}")
    if not changed:
        print_line("Everything installed matches the lock.")
    # A plugin of one file has no version that could be installed.
    missing = [locked[name] for name in sorted(locked.keys() - now) if locked[name].version]
    if missing and (arguments.yes or host.is_interactive):
        names = dict.fromkeys(f"{each.distribution}=={each.version}" for each in missing)
        return host.hand_over("plugins install", arguments, names=[*names])
    return 1 if changed else 0
