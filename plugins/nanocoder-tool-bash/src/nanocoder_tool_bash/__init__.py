"""bash: one shell command with its own environment and a limit, or a job in the background."""

import math
import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from nanocoder import (
    Effect,
    Param,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Workspace,
    hookimpl,
    tool,
)
from nanocoder_kit_process import environment
from nanocoder_kit_process.background import BackgroundProcess

from nanocoder_tool_bash.jobs import Jobs, bash_job, note_ended_jobs, open_jobs
from nanocoder_tool_bash.process import Command
from nanocoder_tool_bash.process_wait import Limits
from nanocoder_tool_bash.report import TITLE_CHARS, Facts, report
from nanocoder_tool_bash.self_protection import refuse_own_end
from nanocoder_tool_bash.settings import MAX_TIMEOUT_S, Settings

DEFAULT_TIMEOUT_S: Final = 120
MAX_COMMAND_BYTES: Final = 131_071  # the longest argument that Linux passes to a program
BASH: Final = "/bin/bash"
SH: Final = "/bin/sh"


@tool(
    risk="dangerous",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK},
    timeout_s=0,
    always_listed=True,
    in_plan=True,
    short="Run a shell command.",
    examples=[{"command": "echo hello"}, {"command": "ls -l", "workdir": "."}],
)
def bash(
    ctx: ToolContext,
    command: Annotated[str, Param("Bash script; chains and pipes are fine.")],
    timeout: Annotated[
        float, Param("Seconds; at most 1,800.", gt=0, le=MAX_TIMEOUT_S)
    ] = DEFAULT_TIMEOUT_S,
    workdir: Annotated[str, Param("Directory; of the workspace, to start in.")] = ".",
    *,
    background: Annotated[bool, "Run as a job; returns at once, bash_job reads it."] = False,
    access: Annotated[
        Literal["default", "write", "outside"],
        Param(
            'What it may change; "write": files where the mode only reads; "outside": all, with'
            " network and no sandbox. Both ask the user."
        ),
    ] = "default",
    reason: Annotated[str, Param("Why; for the user who is asked.")] = "",
) -> ToolResult:
    """Run a shell command; returns what it printed, its errors and exit code.

    It has no terminal and no input. Each call starts anew: directory and variables are not kept,
    and what it leaves running ends; for servers and long work set background. Long output
    lacks its middle, and a file has the whole. To read, search and edit files use the
    tools for that.
    """
    del access, reason  # for policies: they decide in which sandbox ctx.wrap runs it
    settings = ctx.settings or Settings()
    _check(command)
    limits = _limits(timeout, settings)
    refuse_own_end(command)
    ctx.cancelled.check()
    cwd = _directory(ctx.workspace, workdir)
    argv, notes = _shell(command)
    env = environment(os.environ, settings.environment, workspace=ctx.workspace.root)
    # The sandbox is opened before the jobs, and so closed after them.
    argv = ctx.wrap(argv)
    jobs: Jobs = ctx.resource("jobs")
    if background:
        return _start_job(jobs, command, argv, cwd, env)
    with Command(argv, cwd, env, partial(ctx.progress, is_output=True)) as process:
        ended = process.finish(limits, ctx.cancelled)
        # The model learns here that a job has ended, without having to ask for it.
        notes += note_ended_jobs(jobs)
        facts = Facts(
            command,
            limits.command_s,
            settings.output_chars,
            not cwd.is_dir(),
            notes,
            ctx.cancelled.reason,
            lambda: (each.name for each in ctx.tools),
        )
        return report(
            facts,
            ended,
            process.stdout,
            process.stderr,
            lambda name, data: ctx.artifact(f"{ctx.message_id}-{name}", data),
        )


def _start_job(
    jobs: Jobs, command: str, argv: list[str], cwd: Path, env: dict[str, str]
) -> ToolResult:
    job = jobs.start(lambda identity: BackgroundProcess(identity, command, argv, cwd, env))
    return ToolResult(
        f"[started as {job.id}: bash_job reads what it prints and kills it;"
        " it ends with the session at the latest]",
        title=f"{job.id}: {command[:TITLE_CHARS]}",
        data={"id": job.id, "command": command},
        metadata={"command": command, "background": True},
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


def _directory(workspace: Workspace, workdir: str) -> Path:
    """Return the real directory; raises WorkspaceError when it is outside the workspace."""
    path = workspace.root if workdir == "." else workspace.real_path(str(workspace.root / workdir))
    if path.is_dir():
        return path
    if path.exists():
        raise ToolError(f"workdir {workdir!r} is not a directory", error_class="not_a_directory")
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
    """Offer bash and bash_job."""
    return [bash, bash_job]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide a session's jobs, which end with the session."""
    return [Resource("jobs", lambda _session, _settings: open_jobs())]


@hookimpl
def nanocoder_render(
    call: ToolCall, result: ToolResult | None, session: SessionInfo, settings: Any
) -> str | None:
    """Show the command, and its directory unless that is the workspace.

    Raises: ToolError for a command that cannot be started.
    """
    if call.name != bash.name or result is not None:
        return None
    arguments = bash.signature.check(call.arguments)
    _check(arguments["command"])
    _limits(arguments["timeout"], settings or Settings())
    notes = ["in the background"] if arguments["background"] else []
    if arguments["workdir"] != ".":
        with Workspace(session.cwd) as workspace:
            where = _directory(workspace, arguments["workdir"])
            notes += [f"in {where}"] if where != workspace.root else []
    command: str = arguments["command"]
    return f"{command}\n({', '.join(notes)})" if notes else command
