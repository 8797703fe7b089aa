"""Plugins that are installed: found without importing, described once, agreed to by a lock."""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
