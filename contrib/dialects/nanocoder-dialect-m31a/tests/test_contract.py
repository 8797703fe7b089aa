"""What every plugin has to keep."""

from nanocoder_testing.contract import *  # noqa: F403
