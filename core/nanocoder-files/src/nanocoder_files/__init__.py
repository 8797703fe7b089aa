"""Files below one root, opened relative to its file descriptor, and changed atomically."""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
