"""Find installed plugins without importing them, cache their descriptions, and lock them."""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
