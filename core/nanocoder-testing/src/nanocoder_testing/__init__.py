"""The test kit for authors of plugins; see docs/reference/testing.md.

pytest imports this package in every environment that has it, so names load at first use.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
