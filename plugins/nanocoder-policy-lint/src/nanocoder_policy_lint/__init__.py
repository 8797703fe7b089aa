"""After each edit, run the linters that the user configured; the model reads what they find."""

import shlex
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from attrs import evolve, field, frozen
from nanocoder import Effect, SessionInfo, Tool, ToolResult, hookimpl

MAX_TIMEOUT_S = 25.0
"""Less than the 30 seconds that a session waits for this hook."""


def _commands(_: object, __: object, commands: Mapping[str, str]) -> None:
    for pattern, command in commands.items():
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"commands: {pattern!r}: {error}") from None
        if not words:
            raise ValueError(f"commands: {pattern!r}: there is no command")


def _bearable(_: object, __: object, seconds: float) -> None:
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise ValueError(f"timeout_s: {seconds} is not above 0 and at most {MAX_TIMEOUT_S:g}")


@frozen
class Settings:
    """The table [plugins.policy-lint]."""

    commands: Mapping[str, str] = field(
        factory=dict,
        validator=_commands,
        metadata={"description": "By a pattern of file names: the command; `{path}` is the file."},
    )
    timeout_s: float = field(
        default=10.0,
        validator=_bearable,
        metadata={"description": "How long all linters together may take after one call."},
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-lint]."""
    return Settings


@hookimpl
def nanocoder_after_execute(
    result: ToolResult, tool: Tool[..., Any], session: SessionInfo, settings: Settings
) -> ToolResult | None:
    """Add what the linters say of the files that the call wrote."""
    if not settings.commands or result.is_error or not _edits(tool):
        return None
    from nanocoder_policy_lint.linters import complaints

    said = complaints(_jobs(result.metadata, settings.commands), session.cwd, settings.timeout_s)
    return evolve(result, output=f"{result.output}\n{said}", data=result.data) if said else None


def _edits(tool: Tool[..., Any]) -> bool:
    """Tell whether *tool* writes files itself: the steps of a composed one are calls, too."""
    return Effect.WRITE in tool.effects and not tool.composed_of


def _jobs(
    metadata: Mapping[str, Any], commands: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of each changed file with each command for it, as words."""
    paths = [metadata.get("path"), *metadata.get("files_changed", ())]
    for path in paths:
        if isinstance(path, str):
            for pattern, command in commands.items():
                if fnmatch(path, pattern):
                    yield path, tuple(shlex.split(command))
