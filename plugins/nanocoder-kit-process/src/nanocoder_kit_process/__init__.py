"""What tools share that start processes."""

from nanocoder_kit_process.environment import environment

__all__ = ["environment"]
