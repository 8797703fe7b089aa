"""Paths that a rule keeps from being changed, in Landlock."""

from landlock_box import box  # noqa: F401
from sandbox_denied_writes import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401
