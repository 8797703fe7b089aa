"""The installed plugins with a configuration applied, and checks of one against the other."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nanocoder_config import cache_dir, state_dir, user_config_dir
from nanocoder_discovery import Installed, file_plugins, missed, record_in
from nanocoder_schema import (
    SURELY_MEANT,
    ConfigError,
    PersonError,
    UsageError,
    did_you_mean,
    problem_of,
)

from nanocoder.config import Config
from nanocoder.errors import PluginError
from nanocoder.hooks.interfaces import Sessions
from nanocoder.plugins import Plugins


def installed_plugins(config: Config, environment: Mapping[str, str] = os.environ) -> Plugins:
    """Return the installed plugins, configured.

    The manifest cache is not used without a home directory for it, or one to trust.
    """
    cache, record, files = None, None, list[Installed]()
    with suppress(ConfigError):
        if not config.refusal:  # else a project could control the cache
            cache = cache_dir(environment) / "plugins.json"
            record = record_in(state_dir(environment))
            files = file_plugins(str(user_config_dir(environment) / "plugins"))
    plugins = Plugins.installed(cache, refused=_refused(config, cache, environment), files=files)
    plugins.gone = missed(record, plugins.entries)
    for name, (package, is_policy) in plugins.gone.items():
        if is_policy:
            plugins.disable(name, f"{package} was installed at the last start and is gone")
    configure(plugins, config)
    return plugins


def configure(plugins: Plugins, config: Config) -> None:
    """Apply the configuration: settings, disabled plugins, and owners and names of tools."""
    plugins.configure(
        config.settings,
        disabled=config.disabled_plugins,
        owners=config.tool_owner,
        names=config.tool_rename,
        hidden=config.disabled_tools,
        wrapping=config.plugins_with_settings,
        trusted_folder=config.trusted_folder,
    )


def _refused(config: Config, cache: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return, by name, the reasons why quarantine or strict mode disables plugins before a start.

    Raises: ConfigError in strict mode without a lock file.
    """
    refused = {} if config.refusal else _quarantined(environment)
    if not config.strict:
        return refused
    from nanocoder_discovery import refused_by

    # A compiled file may differ from its source, so no installed one is used.
    sys.pycache_prefix = os.devnull if cache is None else str(cache.with_name("compiled"))
    return {**refused, **refused_by(user_config_dir(environment) / "plugins.lock")}


def _quarantined(environment: Mapping[str, str]) -> dict[str, str]:
    """Return, by name, the reasons in quarantine.json, which a plugin writes; empty if damaged."""
    with suppress(ConfigError, OSError, ValueError, AttributeError, RecursionError):
        rows = json.loads((state_dir(environment) / "quarantine.json").read_bytes()).items()
        return {name: f"{why} (nanocoder plugins restore {name})" for name, why in rows}
    return {}


def find_offer(plugins: Plugins, what: str, label: str, name: str) -> tuple[str, Any]:
    """Return (plugin, object) of the offer *name*; raises UsageError or PluginError."""
    offered = plugins.offered(what, name)
    if offered is not None:
        return offered
    have = [offer["name"] for _, offer in plugins.offers(what)]
    why = why_not_offered(plugins, what, name)
    instead = f"{did_you_mean(name, have, '.')} Installed: {', '.join(have) or 'none'}"
    raise UsageError(f"there is no {label} {name!r}{f': {why}' if why else instead}")


def why_not_offered(plugins: Plugins, what: str, name: str) -> str:
    """Return the reason why *name* is not offered, or the package that adds it; "" if unknown."""
    from nanocoder.plugins.packages import way_to_install  # only mistakes need it

    way = way_to_install(what, name)
    return plugins.why_missing(name, what) or (f"{way} adds it" if way else "")


def open_store(
    plugins: Plugins, config: Config, environment: Mapping[str, str], warn: Callable[[str], None]
) -> Sessions:
    """Return the configured store of sessions; raises UsageError, ConfigError or PluginError."""
    name = config.core.store
    plugin, store = find_offer(plugins, "stores", "session store", name)
    try:
        return store.open(environment, plugins.settings(plugin), warn)  # type: ignore[no-any-return]
    except PersonError:
        raise
    except Exception as error:
        problem = f"its store {name!r} cannot be opened: {problem_of(error)}"
        raise PluginError(plugin, problem) from error


def refuse_misspelt(config: Config, plugins: Plugins) -> None:
    """Raise ConfigError for a misspelt plugin's table, or a misspelt tool to hide.

    A policy's rule in a misspelt table would have no effect.
    """
    if problems := misspelt(config, plugins):
        raise ConfigError(problems[0])


def misspelt(config: Config, plugins: Plugins) -> list[str]:
    """Return a line for each name in the configuration that is probably misspelt."""
    plugin_names = {*plugins.entries, *plugins.set_aside, *config.disabled_plugins}
    lines = list(config.unknown_plugins(frozenset(plugin_names), surely=True))
    lines += [line for line, is_slip in remarks(config, plugins) if is_slip]
    where = config.where("tools.disable")
    if not config.disabled_tools or (where.layer == "project" and not config.trusted):
        return lines
    tools = {*plugins.tools(), *(offer["name"] for _, offer in plugins.offers("tools"))}
    missing = sorted(config.disabled_tools - tools)
    hints = {name: did_you_mean(name, tools, cutoff=SURELY_MEANT) for name in missing}
    return lines + [f"{where}: there is no tool {it!r}{hint}" for it, hint in hints.items() if hint]


def remarks(config: Config, plugins: Plugins) -> Iterator[tuple[str, bool]]:
    """Yield the remarks of policies on their settings, such as a rule for an unknown tool.

    Each is a line, and whether it is a mistake that stops the start. The class of the settings has
    a method `remarks(tools, plugins)` that yields an origin, a line and whether it is a mistake. A
    remark on the file of an untrusted project never stops the start.
    """
    configured = config.plugins_with_settings & plugins.entries.keys()
    policies = [n for n in configured if "nanocoder_before_execute" in plugins.entries[n].hooks]
    if not policies:
        return
    tools = {*plugins.tools(), *(offer["name"] for _, offer in plugins.offers("tools"))}
    for plugin in sorted(policies):
        list_remarks = getattr(plugins.settings(plugin), "remarks", lambda *_: ())
        for where, line, is_slip in list_remarks(tools, plugins.entries.keys()):
            # An untrusted project's file must not prevent a start.
            is_foreign = where.layer == "project" and not config.trusted
            yield f"{where}: {line}", is_slip and not is_foreign


def idle_policies(config: Config, plugins: Plugins) -> Iterator[str]:
    """Yield a line for each policy that the configuration disables."""
    for name, (entry, _) in plugins.removed.items():
        if entry.is_policy and name in config.disabled_plugins:
            where = config.where("plugins.disable")
            yield f"{where}: plugins.disable switches off {name!r}, so its rules do not apply"


def start_notices(config: Config, plugins: Plugins) -> list[str]:
    """Return the notices at the start: policies without effect, and remarks on their settings."""
    rules = [line for line, _ in remarks(config, plugins)]
    if len(rules) > 1:
        rules = [f"{rules[0]}; and {len(rules) - 1} more such (nanocoder doctor)"]
    return [*idle_policies(config, plugins), *rules]
