"""nanocoder: a coding agent for the terminal in which every capability is a plugin.

Everything a plugin needs is a name of this module; names load their room when they are first used,
because a command that needs none of them should not wait for them.
"""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
