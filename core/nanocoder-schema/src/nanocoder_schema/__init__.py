"""Schemas and validation of arguments, strict JSON, safe and clipped text; loaded at first use."""

from nanocoder_schema.doors import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
