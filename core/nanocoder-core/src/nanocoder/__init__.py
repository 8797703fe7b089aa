"""nanocoder: a coding agent for the terminal in which every capability is a plugin.

Everything a plugin needs is a name of this module. A name loads its module at first use, so that a
command without plugins does not wait for it.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
