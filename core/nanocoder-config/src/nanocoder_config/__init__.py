"""Layered configuration: default < user < project < environment < flag, each value with its origin.

The user's file is `~/.config/nanocoder/config.toml`, the project's `.nanocoder/config.toml` in the
directory where the program was started (parents are not searched: a file somewhere above must not
surprise anybody). The program's settings are top-level keys, each plugin has a table
`[plugins.NAME]`. A project's file may only tighten what the person set, until the person trusts the
folder. An administrator's file limits all others.
"""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_config.config": "LayeredConfig",
    "nanocoder_config.document": """
        ConfigFile project_file read_project_bytes read_trusted read_user_file trust_entry
    """,
    "nanocoder_config.layers": "Layer Origin keys_of setting variable_of",
    "nanocoder_config.places": "cache_dir own_folders refusal state_dir user_config_dir",
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
