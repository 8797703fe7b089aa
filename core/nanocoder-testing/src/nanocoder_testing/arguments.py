"""Invalid and hostile arguments, as models send them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LONG_PATH_CHARS = 5_000
LONG_TEXT_CHARS = 10_000_000
MANY_PARAMETERS = 1_001
DEEP = 200

# All are harmless if a tool runs one as a command, or deletes the file that it names.
HOSTILE: Mapping[str, str] = {
    "empty": "",
    "a space": " ",
    "a NUL byte": "a\0b",
    "half a character": "a\ud800b",
    "the halves of a character the wrong way round": "\udc00\ud800",
    "a colour": "\x1b[31mred\x1b[0m",
    "a title for the window": "\x1b]0;title\x07",
    "a text that turns round": "txt.\u202eyp.olleh",
    "a zero width space": "hello\u200b.py",
    "a name in NFC": "caf\u00e9.txt",
    "the same name in NFD": "cafe\u0301.txt",
    "a newline in a name": "no-such\nname",
    "a carriage return": "no-such\rname",
    "a path that climbs": "../../../../../../no-such",
    "a path that climbs later": "src/../../no-such",
    "a path that climbs with backslashes": "..\\..\\no-such",
    "a path from the root": "/no-such/nanocoder",
    "two slashes": "//no-such",
    "the folder itself": ".",
    "the folder above": "..",
    "the home directory": "~",
    "a file at home": "~/no-such",
    "an option": "-rf",
    "the end of options": "--",
    "an option with a value": "--output=no-such",
    "a device of Windows": "CON",
    "another device of Windows": "nul.txt",
    "a drive of Windows": "C:\\no-such",
    "a share of Windows": "\\\\no-such\\share",
    "where clouds keep keys": "http://169.254.169.254/latest/meta-data/",
    "where clouds keep keys, otherwise": "http://[fd00:ec2::254]/",
    "a file as an address": "file:///no-such",
    "a template": "{{7*7}}${HOME}%s%n",
    "an expression without an end": "(a+)+$[",
    "a protected place": ".git/config",
    "a file that is there": "hello.py",
    "a folder that is there": "src",
    "a file as a folder": "hello.py/no-such",
    "a long path": "no-such/" * (LONG_PATH_CHARS // 8),
    "a long name": "x" * LONG_PATH_CHARS,
}
"""Bad texts by the kind of their problem."""


def bad_arguments(
    schema: Mapping[str, Any], example: Mapping[str, Any], outside: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (label, arguments): *example* with one problem.

    *outside* is a file outside the workspace, which no call may reach.
    """
    yield "an unknown parameter", {**example, "no_such_parameter": 1}
    yield (
        "more parameters than a call may have",
        {**example, **{f"no_such_{number}": number for number in range(MANY_PARAMETERS)}},
    )
    for name in schema.get("required", ()):
        yield f"no {name}", {key: value for key, value in example.items() if key != name}
    for name, part in schema.get("properties", {}).items():
        for label, value in _bad_values(outside):
            yield f"{name} is {label}", {**example, name: value}
        if part.get("type") == "string" and "enum" not in part:
            for label, text in HOSTILE.items():
                yield f"{name} is {label}", {**example, name: text}
            yield f"{name} is 10 MB of text", {**example, name: "x" * LONG_TEXT_CHARS}


def _bad_values(outside: Path) -> Iterator[tuple[str, Any]]:
    yield "null", None
    yield "a fraction", 3.5
    yield "not a number", float("nan")
    yield "infinity", float("inf")
    yield "a huge number", 10**30
    yield "a number too long to be printed", 10**5_000
    yield "a list of numbers that are none", [float("nan")]
    yield "negative", -1
    yield "true", True
    yield "a list", []
    yield "an object", {}
    yield "lists in lists", _nested(DEEP)
    yield "a path outside", str(outside)
    yield "a path that climbs out", f"../{outside.parent.name}/{outside.name}"


def _nested(depth: int) -> list[Any]:
    candidates: list[Any] = []
    for _ in range(depth):
        candidates = [candidates]
    return candidates
