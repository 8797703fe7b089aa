"""Files below one root, opened beneath a directory handle, changed as a whole or not at all."""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
