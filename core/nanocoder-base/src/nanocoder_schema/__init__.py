"""Schemas and validation of arguments, strict JSON, safe and clipped text; loaded at first use."""

from nanocoder_schema.lazy_exports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
