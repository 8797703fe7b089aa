"""The base of sandboxes: what programs inside see, what is limited, and what they leave."""

from nanocoder_kit_sandbox.hidden import (
    hidden_places,
    listening_sockets,
    long_outputs,
    readable_in_empty_places,
)
from nanocoder_kit_sandbox.inside import Inside
from nanocoder_kit_sandbox.limits import limited
from nanocoder_kit_sandbox.mounts import Mount, MountAccess
from nanocoder_kit_sandbox.probe import problem_of
from nanocoder_kit_sandbox.sandbox_files import unavailable
from nanocoder_kit_sandbox.settings import Settings
from nanocoder_kit_sandbox.survey import Survey

__all__ = [
    "Inside",
    "Mount",
    "MountAccess",
    "Settings",
    "Survey",
    "hidden_places",
    "limited",
    "listening_sockets",
    "long_outputs",
    "problem_of",
    "readable_in_empty_places",
    "unavailable",
]
