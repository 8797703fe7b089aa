"""What every plugin has to keep."""

from nanocoder.testing.contract import *  # noqa: F403
