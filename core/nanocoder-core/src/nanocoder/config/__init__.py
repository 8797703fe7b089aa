"""Configuration: default < user < project < environment < flag, and where each value came from.

The user's file is `~/.config/nanocoder/config.toml`, the project's `.nanocoder/config.toml` in the
directory where nanocoder was started (parents are not searched: a file somewhere above must not
surprise anybody). Core settings are top-level keys, each plugin has a table `[plugins.NAME]`. A
project's file may only tighten what the person set, until the person trusts the folder.
"""

from nanocoder.config.config import Config
from nanocoder.config.origin import Origin
from nanocoder.config.places import cache_dir, own_folders, state_dir, user_config_dir
from nanocoder.config.settings import CoreSettings, Wrap
from nanocoder.config.trust import is_trusted, trust, untrust

__all__ = [
    "Config",
    "CoreSettings",
    "Origin",
    "Wrap",
    "cache_dir",
    "is_trusted",
    "own_folders",
    "state_dir",
    "trust",
    "untrust",
    "user_config_dir",
]
