"""`nanocoder doctor`: what is wrong with this installation, and what to do about it."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.errors import NanocoderError, PersonError
from nanocoder.plugins.discovery import find_plugins, site_paths
from nanocoder.session.installed import idle_policies, misspelt, unknown_tools
from nanocoder.session.models import (
    Chosen,
    choose_model,
    key_source,
    open_provider,
    refuse_unknown_price,
)
from nanocoder.tools.session_info import SessionInfo
from nanocoder.version import VERSION

PLUGIN = "plugin "
NO_TOOLS = "none installed; nanocoder plugins install set-default adds the usual ones"
Row = tuple[str, str, str]


def run(arguments: argparse.Namespace, host: Host) -> int:
    """Print the checks and return 1 when one of them failed. A missing model is no failure."""
    rows = list(_checks(host))
    failed = any(status == "wrong" for _, status, _ in rows)
    if arguments.output == "json":
        checks = [
            {"check": name, "status": status, "detail": detail} for name, status, detail in rows
        ]
        print_json({"ok": not failed, "checks": checks})
    else:
        print_table(("check", "status", "detail"), list(_folded(rows)))
        print_line()
        noted = any(status == "note" for _, status, _ in rows)
        ending = "Nothing is wrong; see the notes above." if noted else "All is well."
        print_line("Something is wrong, see above." if failed else ending)
    return 1 if failed else 0


def _folded(rows: Sequence[Row]) -> Iterator[Row]:
    """Put the plugins that nothing is wrong with into one row; there may be dozens."""
    sound = [name for name, status, _ in rows if name.startswith(PLUGIN) and status == "ok"]
    for row in rows:
        if row[0] not in sound:
            yield row
        elif row[0] == sound[0]:
            yield "plugins", "ok", f"{len(sound)} loaded; `nanocoder plugins list` names them"


def _checks(host: Host) -> Iterator[tuple[str, str, str]]:
    yield "nanocoder", "ok", f"{VERSION}, Python {sys.version.split()[0]}, {sys.prefix}"
    try:
        config = host.config
    except PersonError as error:
        yield "configuration", "wrong", str(error)
        return
    if config.refusal or config.warning:
        status = "wrong" if config.refusal else "note"
        yield "workspace", status, config.refusal or config.warning
    checks: list[Row] = []
    try:
        checks += _plugin_checks(host)
        checks += _choice_checks(host)
        checks.append(_model_check(host))
    except PersonError as error:  # of a lock, a wrapper, or of two plugins with one offer
        checks.append(("plugins", "wrong", str(error)))
    # Only by now is known what was ignored in the tables of plugins.
    notices = "; ".join(config.notices)
    yield "configuration", "note" if notices else "ok", notices or "no complaints"
    yield from checks
    yield from _search_path_checks(host)
    yield from _home_checks()


def _search_path_checks(host: Host) -> Iterator[Row]:
    """Name the entries of PYTHONPATH by which a folder's files run before nanocoder does."""
    variable = os.environ.get("PYTHONPATH")
    if not variable:
        return
    root = os.path.realpath(host.cwd)
    for entry in variable.split(os.pathsep):
        real = os.path.realpath(entry)
        what = "" if os.path.isabs(entry) else "the current directory, whichever that is"
        if not what and os.path.commonpath([root, real]) == root:
            what = f"{entry}, which is in this workspace"
        if what:
            detail = (
                f"{entry!r} puts {what}, before Python's own modules: a sitecustomize.py there"
                " runs before nanocoder; remove it from PYTHONPATH"
            )
            yield "PYTHONPATH", "wrong", detail


def _plugin_checks(host: Host) -> Iterator[tuple[str, str, str]]:
    plugins = host.plugins
    for name in sorted({*plugins.entries, *plugins.set_aside}):
        problem = plugins.set_aside.get(name) or _loading_problem(host, name)
        version = plugins.entries[name].version if name in plugins.entries else ""
        yield f"{PLUGIN}{name}", "wrong" if problem else "ok", problem or version
    tools = plugins.tools()
    for report in plugins.reports:
        yield "plugins", "wrong", str(report)
    yield "tools", "ok" if tools else "note", ", ".join(tools) or NO_TOOLS
    slips = misspelt(host.config, plugins)
    for line in slips:
        yield "configuration", "wrong", line
    names = frozenset({*plugins.entries, *host.config.disabled_plugins})
    for line in (*host.config.unknown_plugins(names), *_idle_names(host, slips)):
        if line not in slips:
            yield "configuration", "note", line


def _choice_checks(host: Host) -> Iterator[Row]:
    """Say what the configuration names and nobody has: sessions, or calls, would end over it."""
    core, plugins = host.config.core, host.plugins
    for what, key, name in (
        ("sandboxes", "sandbox", core.sandbox),
        ("dialects", "dialect", core.dialect),
    ):
        offer = plugins.offered(what, name) if name else None
        where = host.config.where(key)
        if name and offer is None:
            why = plugins.why_missing(name, what) or "no installed plugin has it"
            yield key, "wrong", f"{where}: there is no {key} {name!r}: {why}"
        elif offer is not None and key == "sandbox" and (why := offer[1].unavailable()):
            yield key, "wrong", f"{where}: the sandbox {name!r} cannot be used: {why}"


def _idle_names(host: Host, reported: Sequence[str]) -> Iterator[str]:
    """Yield a line for each name in the configuration that is of nothing that is installed.

    Lines that *reported* has already are left out.
    """
    config, plugins = host.config, host.plugins
    offered = {offer["name"] for _, offer in plugins.offers("tools")}
    tools = {*plugins.tools(), *offered}
    for name in sorted(config.disabled_tools - tools):
        if not any(repr(name) in line for line in reported):
            yield f"{config.where('tools.disable')}: tools.disable names {name!r}: no such tool"
    yield from idle_policies(config, plugins)
    for unknown in unknown_tools(config, plugins):
        if unknown.line not in reported:
            yield unknown.line
    installed = {plugin.name for plugin in find_plugins(site_paths())}
    for name in sorted(config.disabled_plugins - installed):
        yield f"{config.where('plugins.disable')}: plugins.disable names {name!r}: no such plugin"


def _loading_problem(host: Host, name: str) -> str:
    """Load the plugin and its settings, as a session would; returns what went wrong."""
    try:
        for hook in host.plugins.entries[name].hooks:
            host.plugins.implementations(hook)
        host.plugins.settings(name)
    except NanocoderError as error:
        return str(error)
    return host.plugins.set_aside.get(name, "")


def _model_check(host: Host) -> tuple[str, str, str]:
    model = host.config.core.model
    try:
        info = SessionInfo("doctor", host.cwd)
        chosen = choose_model(host.plugins, model, info, config=host.config)
    except PersonError as error:
        if model:
            return "model", "wrong", str(error)
        return "model", "note", "no usable model yet; `nanocoder models` lists ways to get one"
    problem = _price_problem(host, chosen) if host.config.core.max_cost_usd else ""
    return "model", "wrong" if problem else "ok", problem or f"{chosen}{_key_of(host, chosen)}"


def _key_of(host: Host, chosen: Chosen) -> str:
    """Say which variable has the key of the model's provider."""
    offers = (offer for _, offer in host.plugins.offers("providers"))
    names = next(o["key_variables"] for o in offers if o["name"] == chosen.provider)
    return f", its key from {key}" if (key := key_source(names)) else ""


def _price_problem(host: Host, chosen: Chosen) -> str:
    """Say why no run could begin under the limit on money, or that the model cannot be opened."""
    try:
        provider = open_provider(host.plugins, chosen)
        with contextlib.closing(provider):
            refuse_unknown_price(host.config.core, provider, str(chosen))
    except PersonError as error:
        return str(error)
    return ""


def _home_checks() -> Iterator[tuple[str, str, str]]:
    from nanocoder.config.places import cache_dir, state_dir, user_config_dir

    places: tuple[tuple[str, Callable[[], Path], str], ...] = (
        ("sessions", state_dir, "sessions, backups and trust are not kept"),
        ("cache", cache_dir, "every start examines all plugins again"),
        ("settings", user_config_dir, "`nanocoder plugins lock` has nowhere to write"),
    )
    for name, place, otherwise in places:
        try:
            path = place()
        except PersonError as error:
            yield name, "note", f"{error}; {otherwise}"
            continue
        problem = _writing_problem(path)
        if problem:
            yield name, "note", f"{path} cannot be written: {problem}; {otherwise}"
        elif name == "sessions":
            yield name, "ok", str(path)


def _writing_problem(folder: Path) -> str:
    """Return why nothing can be made in *folder*, or in what there is of it; tries it."""
    import tempfile  # only this check needs it

    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    try:
        # Modes mean nothing on a file system that is read-only or has none.
        os.rmdir(tempfile.mkdtemp(prefix=".nanocoder-", dir=existing))
    except OSError as error:
        return error.strerror or str(error)
    return ""
