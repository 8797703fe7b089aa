"""Plugins: discovered without importing, described once, loaded lazily and guarded."""

from nanocoder_discovery import Entry

from nanocoder.plugins.registry import Plugins

__all__ = ["Entry", "Plugins"]
