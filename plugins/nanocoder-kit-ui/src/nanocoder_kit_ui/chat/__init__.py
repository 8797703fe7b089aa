"""A conversation with a person, whatever screen shows it.

A screen implements `Display` and gives each line that was typed to `respond`. Names load their
module when they are first used.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
