"""`nanocoder plugins …`, and the packages that plugins come in: ours, installed ones, and sets."""

import argparse
import os
import re
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
    find_plugins,
    installed_now,
    read_lock,
    site_paths,
    write_lock,
)

SET = "nanocoder-set-"
SET_FOLDERS = "nanocoder_set_"
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
    for what in OFFERED:
        if entry.offers(what):
            print_line(f"  {what}: {', '.join(offer['name'] for offer in entry.offers(what))}")
    print_line(f"  hooks: {', '.join(entry.hooks) or 'none'}")
    if entry.is_policy:
        print_line("  policy: yes; nanocoder does not start without it")


def _row(entry: Entry, problem: str) -> tuple[str, ...]:
    offers = [
        f"{what}: {', '.join(offer['name'] for offer in entry.offers(what))}"
        for what in OFFERED
        if entry.offers(what)
    ]
    if entry.is_policy:
        offers.append("policy")
    cell = f"set aside: {problem}" if problem else "; ".join(offers) or "; ".join(entry.hooks)
    return entry.name, entry.version, entry.distribution, cell


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


def installed_sets() -> dict[str, str]:
    """Return each installed set's name and its METADATA file."""
    metadata: dict[str, str] = {}
    for site in site_paths():
        if not os.path.isdir(site):
            continue
        for name in sorted(os.listdir(site)):
            if name.startswith(SET_FOLDERS) and name.endswith(".dist-info"):
                short = name.removeprefix(SET_FOLDERS).split("-")[0].replace("_", "-")
                metadata.setdefault(short, os.path.join(site, name, "METADATA"))
    return metadata


def installed_packages() -> dict[str, str]:
    """Return the packages of the installed plugins and sets, by each name that they go by."""
    packages = {f"set-{name}": f"{SET}{name}" for name in installed_sets()}
    plugins = find_plugins(site_paths())
    for name, distribution in [(plugin.name, plugin.distribution) for plugin in plugins]:
        own = distribution.lower().replace("_", "-").removeprefix("nanocoder-")
        packages |= {own: distribution, name: distribution}
    return packages


def members_of(name: str) -> frozenset[str]:
    """Return the distributions that the set *name* requires, those of sets among them included.

    Raises UsageError when it is not installed.
    """
    sets = installed_sets()
    if name not in sets:
        hint = did_you_mean(name, sets, ".")
        raise UsageError(f"there is no set {name!r}{hint} Installed: {', '.join(sets) or 'none'}")
    members: set[str] = set()
    waiting = {f"{SET}{name}"}
    while waiting:
        distribution = waiting.pop()
        members.add(distribution)
        # Only sets are followed: what a plugin needs may be a plugin that the set leaves out.
        metadata = sets.get(distribution.removeprefix(SET), "")
        if distribution.startswith(SET) and metadata:
            waiting |= _required(metadata) - members
    return frozenset(members)


def _required(metadata: str) -> set[str]:
    """Return the distributions that a METADATA file requires, those of its extras included."""
    with open(metadata, encoding="utf-8") as file:
        lines = file.read().partition("\n\n")[0].splitlines()
    required = (line.partition("Requires-Dist: ")[2] for line in lines)
    names = (re.split(r"[ ;<>=!~\[(]", text, maxsplit=1)[0] for text in required if text)
    return {name.lower().replace("_", "-") for name in names}
