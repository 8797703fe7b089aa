"""The base of sandboxes: what is protected and hidden inside of them, and what is limited."""

from nanocoder_kit_sandbox.hidden import hidden_places
from nanocoder_kit_sandbox.limits import limited
from nanocoder_kit_sandbox.place import Place, unavailable
from nanocoder_kit_sandbox.settings import Settings
from nanocoder_kit_sandbox.survey import Survey, Surveyed

__all__ = [
    "Place",
    "Settings",
    "Survey",
    "Surveyed",
    "hidden_places",
    "limited",
    "unavailable",
]
