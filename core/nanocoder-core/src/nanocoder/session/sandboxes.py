"""Choose the sandbox of a session's processes: the one by name, or the best that works."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from nanocoder_config import cache_dir
from nanocoder_schema import ConfigError, ToolError, UsageError

from nanocoder.config import Config
from nanocoder.hooks.interfaces import Sandbox
from nanocoder.plugins import Plugins
from nanocoder.session.setup import find_offer
from nanocoder.values import Effect

AUTO: Final = "auto"
NONE: Final = "none"
NOT_INSTALLED: Final = "no plugin offers one; nanocoder plugins install set-default adds them"
FILE: Final = "sandbox"
"""The file in the cache directory with the digest of the last successful trial's facts."""
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"

Chosen = tuple[str, Sandbox, str]
"""The plugin, its offer, and the sandbox's name for people."""


def chosen(plugins: Plugins, name: str, earlier: Chosen | None = None) -> Chosen | None:
    """Return the sandbox *name*, None for none; raises ToolError (sandbox_unavailable).

    For "auto" it is the first usable one by rank, or None. The *earlier* one is asked first.
    """
    if earlier is not None and name in (AUTO, earlier[1].name):
        with suppress(ToolError):
            return _in_force(plugins, *earlier[:2]) or chosen(plugins, name)
    if name in (AUTO, NONE, ""):
        return choose_sandbox(plugins, name)[0] if name == AUTO else None
    try:
        return _in_force(plugins, *find_offer(plugins, "sandboxes", "sandbox", name))
    except UsageError as error:
        raise ToolError(str(error), error_class="sandbox_unavailable") from error


def choose_sandbox(plugins: Plugins, name: str) -> tuple[Chosen | None, list[str]]:
    """Return the sandbox *name*, None for none, and the reasons against it or those before it."""
    reasons: list[str] = []
    for candidate in _ranked(plugins) if name == AUTO else [name]:
        try:
            if usable := chosen(plugins, candidate):
                return usable, reasons
        except ToolError as error:
            reasons.append(str(error))
    return None, reasons or [NOT_INSTALLED if name == AUTO else f"sandbox is {name!r}"]


def is_wanted(config: Config) -> bool:
    """Return True if the settings ask for a sandbox, if one works."""
    return config.core.sandbox not in {"", NONE} or config.core.require_sandbox


def check_start(plugins: Plugins, config: Config, environment: Mapping[str, str]) -> Sequence[str]:
    """Return the notices about a session's sandbox at its start.

    Raises: ConfigError if processes would run without the sandbox that the settings demand.
    """
    executes = (Effect.EXECUTE in tool.effects for tool in plugins.tools().values())
    if not is_wanted(config) or not any(executes):
        return ()
    # A trial takes longer than a start, so a successful one is cached. The cache is no security
    # boundary: each command asks the sandbox again.
    facts = repr(_facts(plugins, config)).encode("utf-8", "surrogateescape")
    with suppress(ConfigError, OSError):
        if (cache_dir(environment) / FILE).read_bytes() == sha256(facts).digest():
            return ()
    usable, reasons = choose_sandbox(plugins, config.core.sandbox)
    if usable is None:
        return (_without(config, "; ".join(reasons)),)
    with suppress(ConfigError, OSError):
        (cache_dir(environment) / FILE).write_bytes(sha256(facts).digest())
    return ()


def _without(config: Config, why: str) -> str:
    """Return the notice that no sandbox is in force; raises ConfigError if one is required."""
    if config.core.require_sandbox:
        where = config.where("require_sandbox")
        raise ConfigError(f"{where}: a sandbox is required, and none is in force: {why}")
    if config.core.sandbox != AUTO:
        raise ConfigError(f"{config.where('sandbox')}: {why}")
    return f"commands run without a sandbox: {why}"


def _in_force(plugins: Plugins, plugin: str, offer: Sandbox) -> Chosen | None:
    name = str(offer.in_force(plugins.settings(plugin)))
    return (plugin, offer, name) if name else None


def _ranked(plugins: Plugins) -> list[str]:
    ranked = sorted(
        (offer["rank"], entry.name, offer["name"])
        for entry, offer in plugins.offers("sandboxes")
        if offer.get("rank") and offer.get("system") in {None, "", sys.platform}
    )
    return [name for *_, name in ranked]


def _facts(plugins: Plugins, config: Config) -> list[object]:
    """Return the facts a trial depends on: system, programs, plugins and their settings."""
    facts: list[object] = [config.core.sandbox, os.getuid(), os.uname()]
    for entry, _ in plugins.offers("sandboxes"):
        facts.append((entry.name, entry.version, config.tables_of(entry.name)))
    with suppress(OSError):  # only Linux has it
        facts.append(Path(BOOT_ID).read_bytes())
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        with suppress(OSError, ValueError):
            state = os.stat(folder)  # changes when a program is added, removed or replaced
            facts.append((folder, state.st_dev, state.st_ino, state.st_mtime_ns))
    return facts
