"""The contract of every plugin, kept by this one."""

from nanocoder.testing.contract import *  # noqa: F403
