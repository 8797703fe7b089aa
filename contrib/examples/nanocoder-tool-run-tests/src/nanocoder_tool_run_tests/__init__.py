"""The tool run_tests: run the project's tests by an argv that no shell parses."""

import os
import signal
import subprocess
from contextlib import suppress
from typing import Annotated, Any

from attrs import frozen
from nanocoder import Effect, Tool, ToolContext, ToolError, ToolResult, hookimpl, tool
from nanocoder_kit_process import environment

TIMEOUT_S = 60.0
LOOK_S = 0.1
"""Seconds between two checks whether a run should stop."""


@frozen
class Settings:
    """The table [plugins.tool-run-tests].

    *command*: the program and its arguments. *pattern*: the argument that a pattern becomes, `{}`
    standing for it. *watch*: the argument for watching; empty where the program cannot.
    """

    command: tuple[str, ...] = ("python3", "-m", "unittest")
    pattern: str = "-k{}"
    watch: str = ""


@tool(
    risk="dangerous",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE},
    timeout_s=TIMEOUT_S,
    examples=[{}, {"pattern": "test_hello"}],
)
def run_tests(
    ctx: ToolContext,
    pattern: Annotated[str, "Which tests."] = "",
    watch: Annotated[bool, "Keep watching."] = False,  # noqa: FBT002
) -> ToolResult:
    """Run the project's tests. Use it after every change."""
    settings: Settings = ctx.settings or Settings()
    argv = _arguments(settings, pattern, watch=watch)
    process = _started(ctx, argv)
    try:
        output, errors = _finished(ctx, process)
    finally:
        _end(process)
    text = output + (f"\nWarnings:\n{errors}" if errors.strip() else "")
    metadata = {"command": argv, "exit_code": process.returncode}
    if process.returncode:
        raise ToolError(
            f"the tests failed (exit code {process.returncode}):\n{text}",
            error_class="tests_failed",
            data=metadata,
        )
    return ToolResult(text.strip() or "(no output)", title="run_tests", metadata=metadata)


def _arguments(settings: Settings, pattern: str, *, watch: bool) -> list[str]:
    if "\0" in pattern:
        raise ToolError("a pattern holds no NUL character", error_class="invalid_arguments")
    if watch and not settings.watch:
        raise ToolError("these tests cannot be watched", error_class="invalid_arguments")
    chosen = [settings.pattern.replace("{}", pattern)] if pattern else []
    return [*settings.command, *chosen, *([settings.watch] if watch else [])]


def _started(ctx: ToolContext, argv: list[str]) -> "subprocess.Popen[str]":
    ctx.cancelled.check()
    try:
        return subprocess.Popen(
            ctx.wrap(argv),
            cwd=ctx.working_directory,
            env=environment(os.environ, workspace=ctx.workspace.root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"{argv[0]} could not be started: {error}") from error


def _finished(ctx: ToolContext, process: "subprocess.Popen[str]") -> tuple[str, str]:
    while True:
        try:
            return process.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            ctx.cancelled.check()


def _end(process: "subprocess.Popen[str]") -> None:
    """Kill the whole process group: children of the tests must not outlive them."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.tool-run-tests]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer run_tests."""
    return [run_tests]
