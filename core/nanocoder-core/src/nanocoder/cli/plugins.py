"""`nanocoder plugins …`: what is installed, what it offers, and how to get more or make one."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from nanocoder_schema import did_you_mean, nearest

from nanocoder.cli.command_host import CommandHost
from nanocoder.cli.inside import refuse_in_a_call
from nanocoder.cli.output import complain, print_json, print_line, print_table
from nanocoder.cli.packages import installed_sets, known_packages
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

CHANGING = frozenset(("install", "remove", "lock", "sync"))
OFFERED = ("tools", "providers", "commands", "screens", "dialects", "sandboxes")


def run(arguments: argparse.Namespace) -> int:
    """Do the action that was named."""
    if arguments.action in CHANGING:
        refuse_in_a_call()
    return ACTIONS[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
    host = CommandHost(arguments.cwd)
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


def _package(name: str) -> str:
    """Return the package of a plugin that may be named without its prefix: tool-grep."""
    is_place = name in {".", ".."} or "/" in name or name.endswith((".whl", ".tar.gz"))
    is_whole = name.lower().replace("_", "-").startswith(PREFIX)
    return name if is_place or is_whole else PREFIX + name


def _install(arguments: argparse.Namespace) -> int:
    packages = [_package(name) for name in arguments.names]
    for package in packages:
        _refuse_slip(package)
    tool, code = _pip("install", *packages)
    if not code:
        CommandHost().tell_start_files()
        return 0
    complain(
        f"{' '.join(packages)} could not be installed: {tool} ended with {code}, see above."
        " If the package is not on your index, name a folder or a wheel, as in nanocoder plugins"
        f" install ./PATH, or set {tool.upper()}_FIND_LINKS to a folder of wheels"
    )
    return 1


def _refuse_slip(package: str) -> None:
    """Raise UsageError for a name that is nearly one of ours: anybody may own that package."""
    name = re.split(r"[\[<>=!~; @]", package, maxsplit=1)[0].lower().replace("_", "-")
    packages = known_packages()
    kind, _, rest = name.removeprefix(PREFIX).partition("-")
    start = f"{PREFIX}{kind}-"
    others = [other.removeprefix(start) for other in packages if other.startswith(start)]
    close = nearest(rest, others, limit=1, cutoff=0.75)
    is_known = name in packages or name in _installed().values()
    if name.startswith(PREFIX) and not is_known and close:
        hint = did_you_mean(name, [start + close[0]])
        raise UsageError(
            f"{name!r} is not a package of nanocoder{hint} Nothing was installed; to install it"
            f" anyway: pip install {name}"
        )


def _remove(arguments: argparse.Namespace) -> int:
    packages = _installed()
    gone = [name for name in arguments.names if _normal(name) not in packages]
    if gone:
        hint = did_you_mean(_normal(gone[0]), packages, ";", cutoff=0.75)
        raise UsageError(
            f"no plugin {gone[0]!r} is installed{hint}"
            " `nanocoder plugins list` names them. Nothing was removed"
        )
    tool, code = _pip("uninstall", *{packages[_normal(name)]: "" for name in arguments.names})
    if code:
        complain(f"nothing was removed: {tool} ended with {code}, see above")
    return 1 if code else 0


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix(PREFIX)


def _installed() -> dict[str, str]:
    """Return the packages of the installed plugins and sets, by each name that they go by."""
    sets = {f"set-{name}": f"{PREFIX}set-{name}" for name in installed_sets()}
    plugins = find_plugins(site_paths())
    packages = {_normal(plugin.distribution): plugin.distribution for plugin in plugins}
    return {**packages, **{_normal(plugin.name): plugin.distribution for plugin in plugins}, **sets}


def _pip(action: str, *packages: str) -> tuple[str, int]:
    """Run pip, or uv where there is none, on this environment; returns which and its exit code."""
    import importlib.util
    import shutil
    import subprocess

    yes = ["-y"] if action == "uninstall" else []
    tool = "pip" if importlib.util.find_spec("pip") else "uv"
    if tool == "pip":
        command = [sys.executable, "-P", "-m", "pip", action, *yes, *packages]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", action, "--python", sys.executable, *packages]
    else:
        raise UsageError(
            f"neither pip nor uv is available to {action} {' '.join(packages)} in {sys.prefix}:"
            " install one of them first"
        )
    return tool, subprocess.run(command, check=False).returncode


def _lock(_: argparse.Namespace) -> int:
    path = user_config_dir() / "plugins.lock"
    now = installed_now()
    write_lock(path, now)
    count = sum(bool(locked.module) for locked in now.values())
    print_line(f"{path}: {count} plugins and {len(now) - count} of their libraries are locked.")
    return 0


def _sync(_: argparse.Namespace) -> int:
    changed = differences(read_lock(user_config_dir() / "plugins.lock"), installed_now())
    for name, difference in changed.items():
        print_line(f"{name} {difference}")
    if not changed:
        print_line("Everything installed matches the lock.")
    return 1 if changed else 0


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "install": _install,
    "remove": _remove,
    "lock": _lock,
    "sync": _sync,
}
