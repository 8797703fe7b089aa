"""Files below one root, opened relative to its file descriptor, and changed atomically."""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
