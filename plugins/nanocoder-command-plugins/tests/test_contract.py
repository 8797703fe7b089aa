"""The promises that every plugin keeps."""

from nanocoder_testing.contract import *  # noqa: F403
