"""One command as a process: it starts in a session of its own, and all of it ends."""

import errno
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Self

from attrs import frozen
from nanocoder import Cancel, ToolError
from nanocoder_kit_process.process_tag import VARIABLE, new_tag
from nanocoder_kit_process.process_tree import ProcessTree, guard

from nanocoder_tool_bash.capture import Capture
from nanocoder_tool_bash.live_output import LiveOutput
from nanocoder_tool_bash.process_wait import KILLED_S, CancelPipe, Limits, ProcessWait
from nanocoder_tool_bash.watchdog import watchdog

SHELL: Final = "/bin/sh"
SHELLS: Final = ("/bin/bash", SHELL)
END_OF_SANDBOX: Final = "--"
# The command starts after its watchdog has its PID, so that it ends even if we are killed at once.
# The shell stays between: the parent that a command may signal is not nanocoder. The shell's own
# messages about signals would look like the command's, so they are discarded.
RUN_BELOW: Final = """\
read -r go || exit
trap : HUP INT TERM
exec 3>&2 2>/dev/null
(exec "$@" </dev/null 2>&3 3>&-)
exit "$?"
"""


@frozen
class Ended:
    """The end of a command. *returncode* is as in subprocess.

    *leftovers* names the processes that it left running, and that were ended with it;
    *needs_terminal* a program that waited for a terminal, and was ended for it.
    """

    returncode: int
    duration_s: float
    timed_out: bool
    cancelled: bool
    leftovers: tuple[str, ...]
    needs_terminal: str = ""

    @property
    def was_stopped(self) -> bool:
        """Return True if the process was stopped before it exited by itself."""
        return self.timed_out or self.cancelled or bool(self.needs_terminal)


class Command:
    """A running command, and a context manager: outside it, none of its processes is alive.

    Raises: ToolError (cwd_missing, command_too_long, invalid_arguments, spawn_failed).
    """

    def __init__(
        self, argv: list[str], cwd: Path, env: Mapping[str, str], show: Callable[[str], None]
    ) -> None:
        """Start *argv*; *show* gets its output in pieces."""
        guard()
        tag = new_tag()
        self._started = time.monotonic()
        self._sandbox = _programs_of_sandbox(argv)
        self._process = _spawn(argv, cwd, {**env, VARIABLE: tag.text})
        self._tree = ProcessTree(tag, self._process.pid)
        watchdog().add(self._process.pid)
        self._live = LiveOutput(show)
        self.stdout = Capture(_pipe(self._process.stdout), self._live.add)
        self.stderr = Capture(_pipe(self._process.stderr), self._live.add)
        with _pipe(self._process.stdin) as go, suppress(BrokenPipeError):  # it was killed
            go.write(b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # A process is alive here only after an exception, for example a KeyboardInterrupt.
        self._tree.end()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(KILLED_S)
        watchdog().remove(self._process.pid)
        self.stdout.close()
        self.stderr.close()

    def finish(self, limits: Limits, cancelled: Cancel) -> Ended:
        """Wait for the end, or cause it, and end the processes left in the background."""
        captures = (self.stdout, self.stderr)
        wait = ProcessWait(self._process, self._tree, captures, limits, self._live)
        cancel_pipe = CancelPipe(cancelled)
        try:
            wait.run(self._started, cancel_pipe)
        finally:
            cancel_pipe.close()
        # The process of a sandbox that reaps the others ends a moment after the command.
        leftovers = [name for name in self._tree.end() if name not in self._sandbox]
        for capture in captures:
            capture.drain()
        self._live.finish()
        return Ended(
            returncode=self._returncode(),
            duration_s=time.monotonic() - self._started,
            timed_out=wait.timed_out,
            cancelled=wait.cancelled,
            leftovers=tuple(leftovers),
            needs_terminal=wait.needs_terminal,
        )

    def _returncode(self) -> int:
        try:
            return self._process.wait(KILLED_S)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL


def _programs_of_sandbox(argv: list[str]) -> set[str]:
    """Return the names of the programs that start the command, which it has not left running."""
    words = argv[: argv.index(END_OF_SANDBOX)] if END_OF_SANDBOX in argv else argv[:1]
    programs = (word for word in words if word.startswith("/") and word not in SHELLS)
    return {program.rpartition("/")[2] for program in programs}


def _spawn(argv: list[str], cwd: Path, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    if shutil.which(argv[0], path=env.get("PATH")) is None:
        raise _start_error(FileNotFoundError(errno.ENOENT, "not found"), argv[0], cwd)
    try:
        return subprocess.Popen(
            [SHELL, "-c", RUN_BELOW, SHELL, *argv],
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise _start_error(error, argv[0], cwd) from error
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise ToolError(
            f"the command cannot be passed to a shell: {error}", error_class="invalid_arguments"
        ) from error


def _start_error(error: OSError, program: str, cwd: Path) -> ToolError:
    if error.errno == errno.E2BIG:
        return ToolError(
            "the command and its environment are too long for the system; "
            "write a script file and run that",
            error_class="command_too_long",
        )
    if not cwd.is_dir():
        return ToolError(
            f"the working directory {str(cwd)!r} does not exist; name another one with workdir",
            error_class="cwd_missing",
        )
    return ToolError(
        f"{program!r} could not be started: {error.strerror or error}", error_class="spawn_failed"
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a process was started without the pipes that were asked for")
    return pipe
