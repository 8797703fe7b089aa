"""Configuration: default < user < project < environment < flag, and where each value came from.

The user's file is `~/.config/nanocoder/config.toml`, the project's `.nanocoder/config.toml` in the
directory where nanocoder was started (parents are not searched: a file somewhere above must not
surprise anybody). Core settings are top-level keys, each plugin has a table `[plugins.NAME]`. A
project's file may only tighten what the person set, until the person trusts the folder.
"""
