"""`nanocoder doctor`: what is wrong with this installation, and what to do about it."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.config.places import cache_dir, state_dir, user_config_dir
from nanocoder.errors import NanocoderError, PersonError, ToolError
from nanocoder.plugins.discovery import find_plugins, site_paths
from nanocoder.session.installed import idle_policies, misspelt, remarks, why_not_offered
from nanocoder.session.models import choose_model, key_source, open_provider, refuse_unknown_price
from nanocoder.tools.session_info import SessionInfo
from nanocoder.version import VERSION

PLUGIN = "plugin "
NO_TOOLS = "none installed; nanocoder plugins install set-default adds the usual ones"
Row = tuple[str, str, str]


def run(arguments: argparse.Namespace, host: Host) -> int:
    """Print the checks and return 1 when one of them failed. A missing model is no failure."""
    rows = list(_checks(host))
    states = {status for _, status, _ in rows}
    if arguments.output == "json":
        checks = [dict(zip(("check", "status", "detail"), row, strict=True)) for row in rows]
        print_json({"ok": "wrong" not in states, "checks": checks})
    else:
        print_table(("check", "status", "detail"), list(_folded(rows)))
        print_line()
        ending = "Nothing is wrong; see the notes above." if "note" in states else "All is well."
        print_line("Something is wrong, see above." if "wrong" in states else ending)
    return 1 if "wrong" in states else 0


def _folded(rows: Sequence[Row]) -> Iterator[Row]:
    """Put the plugins that nothing is wrong with into one row; there may be dozens."""
    sound = [row for row in rows if row[0].startswith(PLUGIN) and row[1] == "ok"]
    for row in rows:
        if row not in sound:
            yield row
        elif row is sound[0]:
            yield "plugins", "ok", f"{len(sound)} loaded; `nanocoder plugins list` names them"


def _checks(host: Host) -> Iterator[Row]:
    yield "nanocoder", "ok", f"{VERSION}, Python {sys.version.split()[0]}, {sys.prefix}"
    try:
        config = host.config
    except PersonError as error:
        yield "configuration", "wrong", str(error)
        return
    if problem := config.refusal or config.warning:
        yield "workspace", "wrong" if config.refusal else "note", problem
    checks: list[Row] = []
    try:
        for room in (_plugin_checks, _name_checks, _choice_checks, _model_checks):
            checks += room(host)
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


def _plugin_checks(host: Host) -> Iterator[Row]:
    plugins = host.plugins
    for name in sorted({*plugins.entries, *plugins.set_aside}):
        problem = plugins.set_aside.get(name) or _loading_problem(host, name)
        version = plugins.entries[name].version if name in plugins.entries else ""
        yield f"{PLUGIN}{name}", "wrong" if problem else "ok", problem or version
    tools = plugins.tools()
    for report in plugins.reports:
        yield "plugins", "wrong", str(report)
    yield "tools", "ok" if tools else "note", ", ".join(tools) or NO_TOOLS


def _name_checks(host: Host) -> Iterator[Row]:
    """Yield a row for each name in the configuration that is of nothing that is installed."""
    config, plugins = host.config, host.plugins
    slips = misspelt(config, plugins)
    for line in slips:
        yield "configuration", "wrong", line
    present = frozenset({*plugins.entries, *config.disabled_plugins})
    tools = {*plugins.tools(), *(offer["name"] for _, offer in plugins.offers("tools"))}
    installed = {plugin.name for plugin in find_plugins(site_paths())}
    lines = [*config.unknown_plugins(present)]
    for name in sorted(config.disabled_tools - tools):
        if not any(repr(name) in line for line in slips):
            where = config.where("tools.disable")
            lines.append(f"{where}: tools.disable names {name!r}: no such tool")
    lines += [*idle_policies(config, plugins), *(line for line, _ in remarks(config, plugins))]
    for name in sorted(config.disabled_plugins - installed):
        where = config.where("plugins.disable")
        lines.append(f"{where}: plugins.disable names {name!r}: no such plugin")
    yield from (("configuration", "note", line) for line in lines if line not in slips)


def _choice_checks(host: Host) -> Iterator[Row]:
    """Say what the configuration names and nobody has: sessions, or calls, would end over it."""
    core, plugins = host.config.core, host.plugins
    for key, what, name in (
        ("sandbox", "sandboxes", "" if core.sandbox == "none" else core.sandbox),
        ("dialect", "dialects", core.dialect),
        ("store", "stores", core.store),
    ):
        offer = plugins.offered(what, name) if name else None
        where = host.config.where(key)
        if name and offer is None:
            why = why_not_offered(plugins, what, name) or "no installed plugin has it"
            is_chosen = where.layer != "default"  # without a store, sessions stay in memory
            status, begin = ("wrong", f"{where}: ") if is_chosen else ("note", "")
            yield key, status, f"{begin}there is no {key} {name!r}: {why}"
        elif offer is not None and key == "sandbox":
            try:
                inside = offer[1].in_force(plugins.settings(offer[0]))
                yield key, "ok" if inside else "note", f"commands run in {inside or 'none'}"
            except ToolError as error:
                yield key, "wrong", f"{where}: {error}"


def _loading_problem(host: Host, name: str) -> str:
    """Load the plugin and its settings, as a session would; returns what went wrong."""
    try:
        for hook in host.plugins.entries[name].hooks:
            host.plugins.implementations(hook)
        host.plugins.settings(name)
    except NanocoderError as error:
        return str(error)
    return host.plugins.set_aside.get(name, "")


def _model_checks(host: Host) -> Iterator[Row]:
    core = host.config.core
    try:
        info = SessionInfo("doctor", host.cwd)
        chosen = choose_model(host.plugins, core.model, info, config=host.config)
    except PersonError as error:
        hint = "no usable model yet; `nanocoder models` lists ways to get one"
        yield ("model", "wrong", str(error)) if core.model else ("model", "note", hint)
        return
    try:
        if core.max_cost_usd:  # no run could begin under a limit on money without a price
            with contextlib.closing(open_provider(host.plugins, chosen)) as provider:
                refuse_unknown_price(core, provider, str(chosen))
    except PersonError as error:
        yield "model", "wrong", str(error)
    else:
        offers = {offer["name"]: offer for _, offer in host.plugins.offers("providers")}
        key = key_source(offers[chosen.provider]["key_variables"])
        yield "model", "ok", f"{chosen}, its key from {key}" if key else str(chosen)


def _home_checks() -> Iterator[Row]:
    for name, place, otherwise in (
        ("sessions", state_dir, "sessions, backups and trust are not kept"),
        ("cache", cache_dir, "every start examines all plugins again"),
        ("settings", user_config_dir, "`nanocoder plugins lock` has nowhere to write"),
    ):
        try:
            path = place()
            _try_to_write(path)
        except PersonError as error:
            yield name, "note", f"{error}; {otherwise}"
        except OSError as error:
            problem = error.strerror or str(error)
            yield name, "note", f"{path} cannot be written: {problem}; {otherwise}"
        else:
            if name == "sessions":
                yield name, "ok", str(path)


def _try_to_write(folder: Path) -> None:
    """Make something in *folder*, or in what there is of it, and remove it; raises OSError."""
    import tempfile  # only this check needs it

    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    # Modes mean nothing on a file system that is read-only or has none.
    os.rmdir(tempfile.mkdtemp(prefix=".nanocoder-", dir=existing))
