"""The promises that every plugin keeps."""

from nanocoder.testing.contract import *  # noqa: F403
