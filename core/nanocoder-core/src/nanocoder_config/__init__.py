"""Layered configuration: default < user < project < environment < flag, each value with its origin.

The user's file is `~/.config/nanocoder/config.toml`, the project's `.nanocoder/config.toml` in the
start directory and in the directories above it in the same repository. The program's settings are
top-level keys, each plugin has a table `[plugins.NAME]`. A project's file may only tighten the
person's settings, until the person trusts the directory. An administrator's file limits all others.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
