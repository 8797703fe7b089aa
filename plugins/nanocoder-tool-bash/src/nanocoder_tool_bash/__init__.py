"""bash: one shell command with its own environment and a limit; nothing keeps running."""

import math
import os
from pathlib import Path
from typing import Annotated, Any, Final

from attrs import field, frozen
from nanocoder import (
    Effect,
    Param,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)
from nanocoder_kit_process import environment

from nanocoder_tool_bash.process import Command
from nanocoder_tool_bash.report import Facts, report
from nanocoder_tool_bash.watch import Limits

DEFAULT_TIMEOUT_S: Final = 120
MAX_TIMEOUT_S: Final = 1_800
MAX_COMMAND_BYTES: Final = 131_071  # the longest argument that Linux passes to a program
BASH: Final = "/bin/bash"
SH: Final = "/bin/sh"


@frozen
class Settings:
    """The table [plugins.tool-bash].

    *environment*: names of variables that commands get besides the usual ones, secrets included.
    *max_timeout_s*: the longest limit a call may ask for, in seconds. *output_chars*: how much of
    the output the model reads, in characters. *interrupt_grace_s* and *terminate_grace_s*: what a
    command gets to end after SIGINT and after SIGTERM, in seconds.
    """

    environment: tuple[str, ...] = ()
    max_timeout_s: float = field(default=MAX_TIMEOUT_S, metadata={"tighten": "min"})
    output_chars: int = 30_000
    interrupt_grace_s: float = 2.0
    terminate_grace_s: float = 3.0


@tool(
    risk="dangerous",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK},
    timeout_s=0,
    short="Run a shell command.",
    examples=[{"command": "echo hello"}, {"command": "ls -l", "workdir": "."}],
)
def bash(
    ctx: ToolContext,
    command: Annotated[str, Param("Script for bash.")],
    timeout: Annotated[
        float, Param("Limit in seconds.", gt=0, le=MAX_TIMEOUT_S)
    ] = DEFAULT_TIMEOUT_S,
    workdir: Annotated[str, Param("Directory.")] = ".",
) -> ToolResult:
    """Run a shell command. It gets no input; nothing keeps running afterwards."""
    settings = ctx.settings or Settings()
    _check(command)
    limits = _limits(timeout, settings)
    ctx.cancelled.check()
    cwd = _directory(ctx, workdir)
    argv, notes = _shell(command)
    env = environment(os.environ, settings.environment)
    with Command(ctx.wrap(argv), cwd, env) as running:
        ended = running.finish(limits, ctx.cancelled)
        facts = Facts(command, limits.command_s, settings.output_chars, not cwd.is_dir(), notes)
        return report(
            facts,
            ended,
            running.stdout,
            running.stderr,
            lambda name, data: ctx.artifact(f"{ctx.message_id}-{name}", data),
        )


def _check(command: str) -> None:
    if not command.strip():
        raise ToolError("the command is empty", error_class="invalid_arguments")
    if len(command.encode("utf-8", "surrogatepass")) > MAX_COMMAND_BYTES:
        raise ToolError(
            f"the command is longer than {MAX_COMMAND_BYTES:,} bytes; "
            "write a script file and run that",
            error_class="command_too_long",
        )


def _limits(timeout: float, settings: Settings) -> Limits:
    most = min(settings.max_timeout_s, MAX_TIMEOUT_S)
    if timeout in (DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S):
        # The default, and "as long as may be": a lower setting is no reason to refuse the call.
        timeout = min(timeout, most)
    if not math.isfinite(timeout) or not 0 < timeout <= most:
        raise ToolError(
            f"timeout is {timeout:g} s; it must be above 0 and at most {most:g}",
            error_class="invalid_arguments",
        )
    return Limits(timeout, settings.interrupt_grace_s, settings.terminate_grace_s)


def _directory(ctx: ToolContext, workdir: str) -> Path:
    """Return the real directory; raises WorkspaceError when it is outside the workspace."""
    if workdir == ".":
        path = ctx.working_directory
    else:
        path = ctx.workspace.real_path(str(ctx.working_directory / workdir))
    if path.is_dir():
        return path
    if path.exists():
        raise ToolError(f"workdir {workdir!r} is no directory", error_class="not_a_directory")
    raise ToolError(f"workdir {workdir!r} does not exist", error_class="cwd_missing")


def _shell(command: str) -> tuple[list[str], tuple[str, ...]]:
    if Path(BASH).exists():
        return [BASH, "--norc", "--noprofile", "-c", command], ()
    return [SH, "-c", command], (f"run by {SH}: there is no {BASH} here",)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.tool-bash]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer bash."""
    return [bash]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Show the command as it would be run, and where it is not the workspace's own folder."""
    if call.name != "bash" or result is not None:
        return None
    where = session.cwd / call.arguments.get("workdir", ".")
    command = str(call.arguments.get("command", ""))
    return command if where == session.cwd else f"{command}\n(in {where})"
