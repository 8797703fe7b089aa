"""Plugins: discovered without importing, described once, loaded lazily and guarded."""

from nanocoder.plugins.manifest import Entry
from nanocoder.plugins.registry import Plugins

__all__ = ["Entry", "Plugins"]
