"""A workspace for calls of tools, and files around it that no call may change."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field
from nanocoder.cancel import idle_threads
from nanocoder.tools.outcome import OUTPUT_LIMIT
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect, Event, ToolResult
from nanocoder_schema import for_model

from nanocoder_testing.tree import tree_digest

OUTSIDE = "what stands outside the workspace"
MAX_OUTPUT_CHARS = OUTPUT_LIMIT.head_chars + OUTPUT_LIMIT.tail_chars + 1_000
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
LEFT_S = 2.0
"""Seconds that a thread of a closed session may take to end."""
MANY = 12
RESIDENT = 1
"""The most processes that a plugin may keep for as long as this one runs."""


@define(eq=False)
class Field:
    """A *workspace* for calls of tools, and the directory *around* it that must not change.

    It has home, the temporary directory, the working directory of the process, and a secret.
    """

    workspace: Path
    around: Path
    _copy: Path
    _before: str = field(init=False)
    _around: str = field(init=False)
    _threads: frozenset[threading.Thread] = field(init=False)
    _processes: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        shutil.copytree(self.workspace, self._copy, symlinks=True)
        self._before = tree_digest(self.workspace)
        self._around = tree_digest(self.around)
        self._threads = frozenset(threading.enumerate())
        self._processes = frozenset(_children())

    @property
    def secret(self) -> Path:
        """A file outside the workspace."""
        return self.around / "outside" / "secret.txt"

    def problems(
        self,
        tool: Tool[..., Any],
        result: ToolResult,
        events: Iterable[Event],
        *,
        attended: bool = True,
    ) -> Iterator[str]:
        """Yield the problems of a call's *result*, and restore the workspace.

        Unless *attended*, nothing may change. The tool is not to blame for the output of a command.
        """
        yield from _problems_of(result)
        yield from _data_problems(events)
        if Effect.EXECUTE not in tool.effects:
            if result.is_error and "Traceback (" in result.output:
                yield f"{result.output:.400}; raise ToolError saying what to do instead"
            if OUTSIDE in result.output:
                yield "it reads outside the workspace; use ctx.workspace"
        if tree_digest(self.workspace) != self._before:
            if not attended:
                yield "it changed the workspace without an approval"
            # The suite's own limit ends a call on a busy machine: that is no failure of the tool.
            elif (
                result.is_error
                and result.error_class != "timeout"
                and Effect.EXECUTE not in tool.effects
            ):
                yield f"it failed ({result.error_class}) and changed the workspace all the same"
            self._restore_workspace()

    def problems_after(self) -> Iterator[str]:
        """Yield the threads, processes and files that a closed session has left."""
        _remove_own_cache(self.around / "home" / ".cache")
        if tree_digest(self.around) != self._around:
            there = sorted(str(path.relative_to(self.around)) for path in self.around.rglob("*"))
            yield f"it changed something outside the workspace, where now is {_few(there)}"
        threads = sorted(thread.name for thread in self._threads_left())
        if threads:
            yield f"it left the threads {_few(threads)}; look at ctx.cancelled while you wait"
        processes = sorted(map(_command_of, set(_children()) - self._processes))
        if len(processes) > RESIDENT:
            yield f"it left the processes {_few(processes)}; end what you start"

    def _threads_left(self) -> list[threading.Thread]:
        until = time.monotonic() + LEFT_S
        new = set(threading.enumerate()) - self._threads - idle_threads()
        for thread in new:
            thread.join(max(0.0, until - time.monotonic()))
        return [thread for thread in new - idle_threads() if thread.is_alive()]

    def _restore_workspace(self) -> None:
        for path in self.workspace.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        shutil.copytree(self._copy, self.workspace, symlinks=True, dirs_exist_ok=True)


def _remove_own_cache(caches: Path) -> None:
    """Remove the core's own cache: tools that open sessions write the manifest."""
    shutil.rmtree(caches / "nanocoder", ignore_errors=True)
    with suppress(OSError):
        caches.rmdir()


def _problems_of(result: ToolResult) -> Iterator[str]:
    if result.error_class == "tool_broken":
        yield f"{result.output:.400}; raise ToolError saying what to do instead"
    if result.is_error != bool(result.error_class):
        yield f"is_error {result.is_error} and error_class {result.error_class!r} do not agree"
    if result.error_class and not IDENTIFIER.fullmatch(result.error_class):
        yield f"{result.error_class!r} is no identifier"
    if for_model(result.output) != result.output:
        yield f"its output is not clean: {result.output!r:.400}"
    if len(result.output) > MAX_OUTPUT_CHARS:
        yield f"its output has {len(result.output):,} characters"


def _data_problems(events: Iterable[Event]) -> Iterator[str]:
    """Yield the problems of a result for a journal and for scripts."""
    for event in events:
        if event.kind == "call.returned":
            try:
                json.dumps(event.data)
            except (TypeError, ValueError) as error:
                yield f"its result cannot be written as JSON: {error}"


def _children() -> Iterator[str]:
    """Yield the running child processes, if the system lists them."""
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            yield from path.read_text(encoding="ascii").split()


def _few(names: list[str]) -> str:
    rest = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return ", ".join(names[:MANY]) + rest


def _command_of(process: str) -> str:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return process
    return f"{process} ({command.replace(bytes(1), b' ').decode(errors='replace'):.100})"
