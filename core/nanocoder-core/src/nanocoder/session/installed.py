"""The installed plugins with the configuration applied, without anything else of a session."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from nanocoder.config.config import Config
from nanocoder.config.places import cache_dir, user_config_dir
from nanocoder.errors import ConfigError
from nanocoder.plugins import Plugins


def installed_plugins(config: Config, environment: Mapping[str, str] = os.environ) -> Plugins:
    """Return what is installed, configured.

    The manifest cache is left out where there is no home for it, or none to trust.
    """
    cache: Path | None = None
    with suppress(ConfigError):
        cache = None if config.refusal else cache_dir(environment) / "plugins.json"
    plugins = Plugins.installed(cache, refused=_refused(config, cache, environment))
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
    )


def _refused(
    config: Config, cache: Path | None, environment: Mapping[str, str]
) -> Mapping[str, str]:
    """Return why strict mode sets plugins aside, before anything of them runs.

    Raises ConfigError without a lock.
    """
    if not config.strict:
        return {}
    from nanocoder.plugins.lock import refused_by

    # A compiled file can hold anything, so none that was installed is used.
    sys.pycache_prefix = os.devnull if cache is None else str(cache.with_name("compiled"))
    return refused_by(user_config_dir(environment) / "plugins.lock")
