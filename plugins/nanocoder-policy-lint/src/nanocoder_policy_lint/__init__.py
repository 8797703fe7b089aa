"""After each edit, run the linters that the user configured; the model reads their complaints."""

import shlex
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from attrs import evolve, field, frozen
from nanocoder import Effect, SessionInfo, Tool, ToolResult, hookimpl

MAX_TIMEOUT_S = 25.0
"""Less than the 30 seconds that a session waits for this hook."""


def _check_commands(_: object, __: object, commands: Mapping[str, str]) -> None:
    for pattern, command in commands.items():
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"commands: {pattern!r}: {error}") from None
        if not words:
            raise ValueError(f"commands: {pattern!r}: there is no command")


def _check_timeout(_: object, __: object, seconds: float) -> None:
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise ValueError(f"timeout_s: {seconds} is not above 0 and at most {MAX_TIMEOUT_S:g}")


@frozen
class Settings:
    """The table [plugins.policy-lint]."""

    commands: Mapping[str, str] = field(
        factory=dict,
        validator=_check_commands,
        metadata={"description": "By a pattern of file names: the command; `{path}` is the file."},
    )
    timeout_s: float = field(
        default=10.0,
        validator=_check_timeout,
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
    """Add the linters' complaints about the files that the call wrote."""
    if not settings.commands or result.is_error or not _edits(tool):
        return None
    from nanocoder_policy_lint.linters import find_complaints

    jobs = _jobs(result.metadata, settings.commands)
    report = find_complaints(jobs, session, settings.timeout_s)
    return evolve(result, output=f"{result.output}\n{report}", data=result.data) if report else None


def _edits(tool: Tool[..., Any]) -> bool:
    """Return True if *tool* writes files itself; steps of a composed tool are own calls."""
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
