"""Find installed plugins without importing them, cache their descriptions, and lock them."""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
