"""`nanocoder plugins …`, and the packages that plugins come in: ours, installed ones, and sets."""

import argparse
from collections.abc import Sequence
from typing import Any

from nanocoder_schema import did_you_mean

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.config.places import user_config_dir
from nanocoder.errors import UsageError
from nanocoder.plugins import Entry, Plugins
from nanocoder.plugins.discovery import (
    PREFIX,
    differences,
    installed_now,
    read_lock,
    write_lock,
)

OFFERED = ("tools", "providers", "commands", "screens", "dialects", "sandboxes")


def show(arguments: argparse.Namespace, host: Host) -> int:
    """List the plugins, or show those that are named."""
    plugins = host.plugins
    names = sorted({name.removeprefix(PREFIX) for name in arguments.names} or plugins.entries)
    _refuse_unknown(names, plugins)
    entries = [plugins.entries[name] for name in names]
    if arguments.output == "json":
        print_json([_data(entry, plugins.set_aside.get(entry.name, "")) for entry in entries])
        return 0
    if arguments.names:
        for entry in entries:
            _print_plugin(entry, plugins.set_aside.get(entry.name, ""))
        return 0
    rows = [_row(entry, plugins.set_aside.get(entry.name, "")) for entry in entries]
    print_table(("plugin", "version", "package", "offers"), rows)
    if not rows:
        print_line(
            "No plugin is installed. To add the usual ones: nanocoder plugins install set-default"
        )
    return 0


def _refuse_unknown(names: Sequence[str], plugins: Plugins) -> None:
    """Raise UsageError for a name that no installed plugin has."""
    for name in names:
        if name not in plugins.entries:
            why = plugins.set_aside.get(name)
            hint = did_you_mean(name, plugins.entries, "; see `nanocoder plugins list`")
            problem = f"plugin {name!r} is set aside: {why}" if why else f"no plugin {name!r}{hint}"
            raise UsageError(problem)


def _print_plugin(entry: Entry, problem: str) -> None:
    """Print all that one plugin is and offers."""
    print_line(f"{entry.name} {entry.version} ({entry.distribution})")
    if problem:
        print_line(f"  set aside: {problem}")
    for line in _offers(entry):
        print_line(f"  {line}")
    print_line(f"  hooks: {', '.join(entry.hooks) or 'none'}")
    if entry.is_policy:
        print_line("  policy: yes; nanocoder does not start without it")


def _row(entry: Entry, problem: str) -> tuple[str, ...]:
    offers = [*_offers(entry), *(["policy"] if entry.is_policy else [])]
    cell = f"set aside: {problem}" if problem else "; ".join(offers or entry.hooks)
    return entry.name, entry.version, entry.distribution, cell


def _offers(entry: Entry) -> list[str]:
    names = {what: ", ".join(offer["name"] for offer in entry.offers(what)) for what in OFFERED}
    return [f"{what}: {listed}" for what, listed in names.items() if listed]


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


def lock(_arguments: argparse.Namespace, _host: Host) -> int:
    """Record what is installed as trusted."""
    path = user_config_dir() / "plugins.lock"
    now = installed_now()
    write_lock(path, now)
    count = sum(bool(locked.module) for locked in now.values())
    print_line(f"{path}: {count} plugins and {len(now) - count} of their libraries are locked.")
    return 0


def sync(_arguments: argparse.Namespace, _host: Host) -> int:
    """Compare what is installed with the lock; returns 1 where they differ."""
    changed = differences(read_lock(user_config_dir() / "plugins.lock"), installed_now())
    for name, difference in changed.items():
        print_line(f"{name} {difference}")
    if not changed:
        print_line("Everything installed matches the lock.")
    return 1 if changed else 0
