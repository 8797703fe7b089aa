"""The contract of every plugin, kept by this one."""

from nanocoder_testing.contract import *  # noqa: F403
