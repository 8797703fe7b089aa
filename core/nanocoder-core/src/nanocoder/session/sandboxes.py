"""Which sandbox a session's processes run in: the one by name, or the best that works."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from nanocoder_config import cache_dir
from nanocoder_schema import ConfigError, ToolError, UsageError

from nanocoder.config import Config
from nanocoder.hooks.contributions import Sandbox
from nanocoder.plugins import Plugins
from nanocoder.session.installed import find_offer
from nanocoder.values import Effect

AUTO: Final = "auto"
NONE: Final = "none"
NOT_INSTALLED: Final = "no plugin offers one; nanocoder plugins install set-default adds them"
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"

Chosen = tuple[str, Sandbox, str]
"""The plugin, what it offers, and what processes run in, for people."""


def chosen(plugins: Plugins, name: str) -> Chosen | None:
    """Return the sandbox *name*, None for none; raises ToolError (sandbox_unavailable).

    For "auto" it is the first by rank that can be used, and none where none can.
    """
    if name in ("", NONE):
        return None
    if name == AUTO:
        return choose_sandbox(plugins, name)[0]
    try:
        plugin, _ = find_offer(plugins, "sandboxes", "sandbox", name)
    except UsageError as error:
        raise ToolError(str(error), error_class="sandbox_unavailable") from error
    return _used(plugins, plugin, name)


def choose_sandbox(plugins: Plugins, name: str) -> tuple[Chosen | None, list[str]]:
    """Return the sandbox *name*, None for none, and why each one before it cannot be used."""
    reasons: list[str] = []
    names = _ranked(plugins) if name == AUTO else [("", name)]
    for plugin, candidate in names:
        try:
            usable = _used(plugins, plugin, candidate) if plugin else chosen(plugins, candidate)
        except ToolError as error:
            reasons.append(str(error))
            continue
        if usable:
            return usable, reasons
    if name != AUTO:
        return None, reasons or [f"sandbox is {name!r}"]
    return None, reasons or [NOT_INSTALLED]


def start_notice(plugins: Plugins, config: Config, environment: Mapping[str, str]) -> str:
    """Return what a person should know of a session's sandbox at its start, "" for nothing.

    Raises: ConfigError where processes would run without the sandbox that the settings demand.
    """
    core = config.core
    is_off = core.sandbox in ("", NONE) and not core.require_sandbox
    if is_off or not any(Effect.EXECUTE in tool.effects for tool in plugins.tools().values()):
        return ""
    # A trial takes longer than a start, so one that went well is remembered. That is no boundary:
    # each command asks the sandbox again.
    file, trial = _trial_file(environment), _trial(plugins, config)
    with suppress(OSError):
        if file is not None and file.read_bytes() == trial:
            return ""
    usable, reasons = choose_sandbox(plugins, core.sandbox)
    if usable is None:
        return _without(config, "; ".join(reasons))
    with suppress(OSError):
        if file is not None:
            file.write_bytes(trial)
    return ""


def _without(config: Config, why: str) -> str:
    """Return the notice that no sandbox is in force; raises ConfigError where one must be."""
    if config.core.require_sandbox:
        where = config.where("require_sandbox")
        raise ConfigError(f"{where}: a sandbox is required, and none is in force: {why}")
    if config.core.sandbox != AUTO:
        raise ConfigError(f"{config.where('sandbox')}: {why}")
    return f"commands run without a sandbox: {why}"


def _used(plugins: Plugins, plugin: str, name: str) -> Chosen | None:
    offer = plugins.real(plugin, "sandboxes", name)
    in_force = str(offer.in_force(plugins.settings(plugin)))
    return (plugin, offer, in_force) if in_force else None


def _ranked(plugins: Plugins) -> list[tuple[str, str]]:
    ranked = sorted(
        (offer["rank"], entry.name, offer["name"])
        for entry, offer in plugins.offers("sandboxes")
        if offer.get("rank") and offer.get("system") in {None, "", sys.platform}
    )
    return [(plugin, name) for _, plugin, name in ranked]


def _trial_file(environment: Mapping[str, str]) -> Path | None:
    with suppress(ConfigError):
        return cache_dir(environment) / "sandbox"
    return None


def _trial(plugins: Plugins, config: Config) -> bytes:
    """Return a digest of what the outcome of a trial depends on."""
    facts = repr([*_facts(plugins, config)])
    return sha256(facts.encode("utf-8", "surrogateescape")).digest()


def _facts(plugins: Plugins, config: Config) -> Iterator[object]:
    """Yield the system, the programs, the plugins and their settings."""
    yield from (config.core.sandbox, os.getuid(), *os.uname())
    with suppress(OSError):  # Linux has it
        yield Path(BOOT_ID).read_bytes()
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        with suppress(OSError, ValueError):
            facts = os.stat(folder)
            # A program that is installed, replaced or removed changes its folder.
            yield folder, facts.st_dev, facts.st_ino, facts.st_mtime_ns
    for entry, _ in plugins.offers("sandboxes"):
        yield entry.name, entry.version, config.tables_of(entry.name)
