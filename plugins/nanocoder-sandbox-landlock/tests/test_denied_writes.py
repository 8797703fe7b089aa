"""Paths that a rule keeps from being changed, in Landlock."""

from sandbox_denied_writes import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401
