"""nanocoder: a coding agent for the terminal in which every capability is a plugin.

Everything a plugin needs is a name of this module. A name loads its module at first use, so that a
command without plugins does not wait for it.
"""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
