"""Arguments described and checked, strict JSON, text made safe and cut; names load at first use."""

from nanocoder_schema.doors import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
