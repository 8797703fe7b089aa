"""Paths of a workspace that the session's own is a copy of, as paths of the copy."""

from collections.abc import Mapping, Sequence
from typing import Any

from nanocoder import SessionInfo, named_paths


def in_the_copy(
    arguments: Mapping[str, Any], session: SessionInfo
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return *arguments* with paths below the session's origins mapped to here, and remarks.

    A command is not changed: the program that it starts would not find the copy.
    """
    remarks = dict[str, None]()

    def translate(value: Any, key: str) -> Any:
        if isinstance(value, Mapping):
            return {name: translate(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [translate(inner, key) for inner in value]
        if not isinstance(value, str) or named_paths({key: value}) != [value]:
            return value
        path = _relative(value, str(session.cwd), list(map(str, session.origins)))
        if path != value:
            remarks[f"{value} as {path}, in this copy of the workspace"] = None
        return path

    return translate(arguments, "") if session.origins else arguments, tuple(remarks)


def _relative(path: str, here: str, origins: Sequence[str]) -> str:
    if f"{path}/".startswith(f"{here}/"):
        return path
    for origin in origins:
        if f"{path}/".startswith(f"{origin}/"):
            return path[len(origin) :].strip("/") or "."
    return path
