"""The base of tools that start processes."""

from nanocoder_kit_process.environment import SYSTEM_PATH, environment
from nanocoder_kit_process.programs import find_program, without_workspace

__all__ = ["SYSTEM_PATH", "environment", "find_program", "without_workspace"]
