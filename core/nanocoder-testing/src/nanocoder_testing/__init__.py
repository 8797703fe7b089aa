"""What authors of plugins test with; see docs/reference/testing.md.

pytest imports this package in every environment that has it, so names load when they are used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanocoder_testing.checking import check
    from nanocoder_testing.definitions import definition_problems
    from nanocoder_testing.playing import Played, opened, play
    from nanocoder_testing.scripted import Scripted, Turn
    from nanocoder_testing.streams import stream_problems
    from nanocoder_testing.tree import tree_digest

_ROOMS = {
    "Played": "playing",
    "Scripted": "scripted",
    "Turn": "scripted",
    "check": "checking",
    "definition_problems": "definitions",
    "opened": "playing",
    "play": "playing",
    "stream_problems": "streams",
    "tree_digest": "tree",
}

__all__ = [
    "Played",
    "Scripted",
    "Turn",
    "check",
    "definition_problems",
    "opened",
    "play",
    "stream_problems",
    "tree_digest",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'nanocoder_testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"nanocoder_testing.{_ROOMS[name]}"), name)
