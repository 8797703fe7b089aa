"""Arguments that a model should not send, and sends."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LONG_PATH_CHARS = 5_000


def bad_arguments(
    schema: Mapping[str, Any], example: Mapping[str, Any], outside: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a label and arguments: *example* with one thing wrong.

    *outside* is a file outside the workspace, which no call may reach.
    """
    yield "an unknown parameter", {**example, "no_such_parameter": 1}
    for name in schema.get("required", ()):
        yield f"no {name}", {key: value for key, value in example.items() if key != name}
    for name in schema.get("properties", {}):
        for label, value in _bad_values(outside):
            yield f"{name} is {label}", {**example, name: value}


def _bad_values(outside: Path) -> Iterator[tuple[str, Any]]:
    yield "null", None
    yield "a fraction", 3.5
    yield "a huge number", 10**30
    yield "negative", -1
    yield "true", True
    yield "a list", []
    yield "an object", {}
    yield "empty", ""
    yield "a NUL byte", "a\0b"
    yield "half a character", "a\ud800b"
    yield "a very long text", "x" * LONG_PATH_CHARS
    yield "a path outside", str(outside)
    yield "a path that climbs out", f"../{outside.parent.name}/{outside.name}"
