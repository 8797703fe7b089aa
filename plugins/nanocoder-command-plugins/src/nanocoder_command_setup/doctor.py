"""`nanocoder doctor`: the problems of this installation, and advice."""

import os
import re
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from nanocoder import (
    Host,
    PersonError,
    SessionInfo,
    UsageError,
    cache_dir,
    choose_model,
    choose_sandbox,
    core_checks,
    find_offer,
    idle_policies,
    key_source,
    misspelt,
    open_provider,
    refuse_unknown_price,
    remarks,
    state_dir,
    user_config_dir,
)
from nanocoder_discovery import find_plugins, site_paths
from nanocoder_kit_files.redact import Redactor
from nanocoder_kit_files.table import print_table

from nanocoder_command_setup.models import is_ready
from nanocoder_command_setup.packages import is_set, missing_requirements
from nanocoder_command_setup.trust import plugin_reviews

Check = tuple[str, str, str]
"""As in the core: the subject of a check, its status, and the detail."""

COLUMNS: Final = ("check", "status", "detail")
PLUGIN: Final = "plugin "
"""Prefix of the name of a check of one plugin."""
KEY_NOT_TRIED: Final = (
    "{}, its key from {}, which is not tried here: `nanocoder models {}` tries it"
)
NOT_READY: Final = "{} does not answer now; `nanocoder models` says what each provider needs"
_IN_FILE: Final = re.compile(r"[^\n]*?\.toml:\d+( \(managed\))?: ")
"""Prefix of a problem in a configuration file."""
_OF_PLUGIN: Final = re.compile(r"^plugin '[^']*': ")


def run(arguments: Namespace, host: Host) -> int:
    """Print the checks and return 1 when one of them failed. A missing model is no failure."""
    redactor = Redactor()
    checks = [(what, status, redactor.redact(detail)) for what, status, detail in _checks(host)]
    return print_checks(host, checks, arguments.output)


def print_checks(host: Host, checks: Sequence[Check], form: str) -> int:
    """Print *checks* as a table, or as JSON by *form*; returns the exit code."""
    states = {status for _, status, _ in checks}
    if form == "json":
        rows = [dict(zip(COLUMNS, check, strict=True)) for check in checks]
        host.print_json({"ok": "wrong" not in states, "checks": rows})
    else:
        print_table(COLUMNS, list(_folded(checks)))
        host.print_line()
        ending = "Nothing is wrong; see the notes above." if "note" in states else "All is well."
        host.print_line("Something is wrong, see above." if "wrong" in states else ending)
    return 1 if "wrong" in states else 0


def _folded(checks: Sequence[Check]) -> Iterator[Check]:
    """Put the plugins that nothing is wrong with into one row; there may be dozens."""
    sound = [check for check in checks if check[0].startswith(PLUGIN) and check[1] == "ok"]
    for check in checks:
        if check not in sound:
            yield check
        elif check is sound[0]:
            yield "plugins", "ok", f"{len(sound)} loaded; `nanocoder plugins list` names them"


def _checks(host: Host) -> list[Check]:
    checks = list(core_checks(host))
    try:
        _ = host.config
    except PersonError:
        return checks  # the core's checks end with it
    for part in (
        _name_checks,
        _choice_checks,
        _sandbox_checks,
        _model_checks,
        _settings_checks,
        _review_checks,
        _package_checks,
    ):
        try:
            checks += part(host)
        except PersonError as error:  # of settings, or of two plugins with one offer
            checks.append(("plugins", "wrong", str(error)))
    return list(_once([*checks, *_search_path_checks(host), *_home_checks()]))


def _once(checks: Sequence[Check]) -> Iterator[Check]:
    """Yield each problem once, and no "ok" of a configuration that has a problem."""
    in_files = any(
        status != "ok" and (what == "configuration" or _IN_FILE.match(detail))
        for what, status, detail in checks
    )
    with_problem = {what for what, status, _ in checks if status == "wrong"}
    problems: list[str] = []
    for what, status, detail in checks:
        is_ok = status == "ok"
        if is_ok and what.startswith(PLUGIN) and what in with_problem:
            continue
        text = _OF_PLUGIN.sub("", detail)
        is_repeated = not is_ok and any(text in problem for problem in problems)
        if is_repeated or (is_ok and what == "configuration" and in_files):
            continue
        if not is_ok:
            problems.append(detail)
        yield what, status, detail


def _name_checks(host: Host) -> Iterator[Check]:
    """Yield a note for each name in the configuration that nothing installed has."""
    config, plugins = host.config, host.plugins
    slips = misspelt(config, plugins)  # these are among the core's own checks
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


def _settings_checks(host: Host) -> Iterator[Check]:
    """Yield the checks of plugins' settings classes: a class may have `checks(trusted_folder)`."""
    plugins = host.plugins
    for name in sorted(plugins.entries.keys() - plugins.set_aside.keys()):
        try:
            checks = getattr(plugins.settings(name), "checks", None)
        except PersonError:
            continue  # the core's checks name it
        if checks is not None:
            yield from checks(host.config.trusted_folder)


def _review_checks(host: Host) -> Iterator[Check]:
    """Yield a note for each file that takes effect once the user trusts the folder."""
    try:
        reviews = plugin_reviews(host)
    except PersonError as error:
        yield "trust", "note", str(error)
        return
    for lines, _ in reviews:
        text = lines[0].rstrip(":")
        yield "trust", "note", f"{text}, which are ignored until you run nanocoder config trust"


def _package_checks(_: Host) -> Iterator[Check]:
    """Yield the missing requirements of installed plugins and sets."""
    for name, missing in missing_requirements():
        status = "note" if is_set(name) else "wrong"
        detail = (
            f"requires {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not"
            f" installed; nanocoder plugins install {name} adds what is missing"
        )
        yield f"package {name}", status, detail


def _search_path_checks(host: Host) -> Iterator[Check]:
    """Yield the entries of PYTHONPATH whose files could run before nanocoder does."""
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


def _choice_checks(host: Host) -> Iterator[Check]:
    """Yield the configured dialect or store that no plugin has: sessions or calls would fail."""
    core = host.config.core
    for key, what, name in (
        ("dialect", "dialects", core.dialect),
        ("store", "stores", core.store),
    ):
        where = host.config.where(key)
        if not name:
            continue
        try:
            find_offer(host.plugins, what, key, name)
        except UsageError as error:
            is_chosen = where.layer != "default"  # without a store, sessions stay in memory
            status, begin = ("wrong", f"{where}: ") if is_chosen else ("note", "")
            yield key, status, f"{begin}{error}"


def _sandbox_checks(host: Host) -> Iterator[Check]:
    """Yield the sandbox of commands, and the reason against each preferred one."""
    core, config = host.config.core, host.config
    usable, reasons = choose_sandbox(host.plugins, core.sandbox)
    if usable:
        yield "sandbox", "ok", f"commands run in {usable[2]}"
        yield from (("sandbox", "note", reason) for reason in reasons)
        return
    outside = f"commands run without a sandbox: {'; '.join(reasons)}"
    if core.require_sandbox:
        where = config.where("require_sandbox")
        yield "sandbox", "wrong", f"{where}: no session starts, as {outside}"
    elif core.sandbox == "auto":
        yield "sandbox", "note", outside
    elif core.sandbox in ("", "none"):
        way = "nanocoder config set sandbox auto takes the best one that works"
        yield "sandbox", "note", f"{config.where('sandbox')}: {outside}; {way}"
    else:
        yield "sandbox", "wrong", f"{config.where('sandbox')}: {'; '.join(reasons)}"


def _model_checks(host: Host) -> Iterator[Check]:
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
            with closing(open_provider(host.plugins, chosen)) as provider:
                refuse_unknown_price(core, provider, str(chosen))
    except PersonError as error:
        yield "model", "wrong", str(error)
    else:
        offers = {offer["name"]: (it.name, offer) for it, offer in host.plugins.offers("providers")}
        plugin, offer = offers[chosen.provider]
        key = key_source(offer["key_variables"])
        # A probe says nothing about weights of one's own beside the default ones.
        is_probed = offer["probe"] and offer["default_model"] in ("", chosen.model)
        if is_probed and not is_ready(host, plugin, offer):
            yield "model", "note", NOT_READY.format(chosen)
            return
        detail = KEY_NOT_TRIED.format(chosen, key, chosen.provider) if key else str(chosen)
        yield "model", "ok", detail


def _home_checks() -> Iterator[Check]:
    for name, folder_of, consequence in (
        ("sessions", state_dir, "sessions, backups and trust are not saved"),
        ("cache", cache_dir, "every start examines all plugins again"),
        ("settings", user_config_dir, "`nanocoder plugins lock` has nowhere to write"),
    ):
        try:
            path = folder_of()
            _try_to_write(path)
        except PersonError as error:
            yield name, "note", f"{error}; {consequence}"
        except OSError as error:
            problem = error.strerror or str(error)
            yield name, "note", f"{path} cannot be written: {problem}; {consequence}"
        else:
            if name == "sessions":
                yield name, "ok", str(path)


def _try_to_write(folder: Path) -> None:
    """Create and remove a directory in *folder* or its first existing parent; raises OSError."""
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    # Modes mean nothing on a file system that is read-only or has none.
    os.rmdir(tempfile.mkdtemp(prefix=".nanocoder-", dir=existing))
