"""Starting linters: in the sandbox, without a shell, with few variables, for a bounded time."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from typing import IO, cast

from nanocoder import SessionInfo, ToolError
from nanocoder_kit_process import environment, find_program, without_workspace

MAX_BYTES = 65_536
"""Limit of a linter's output."""

SHOWN_LINES = 40
SHOWN_CHARS = 4_000


def find_complaints(
    jobs: Iterable[tuple[str, tuple[str, ...]]], session: SessionInfo, timeout_s: float
) -> str:
    """Return the complaints of the linters in *jobs*, pairs of a path and a command.

    They run one after the other in the workspace, for *timeout_s* seconds together. The result is
    "" when each of them exits with 0.
    """
    return "\n".join(_complaints(jobs, session, time.monotonic() + timeout_s))


def _complaints(
    jobs: Iterable[tuple[str, tuple[str, ...]]], session: SessionInfo, deadline: float
) -> Iterator[str]:
    finished = set()
    for path, words in jobs:
        if not (session.cwd / path).is_file():  # deleted, or moved away
            continue
        # A path that begins with "-" would be read as an option.
        argv = tuple(word.replace("{path}", os.path.join(".", path)) for word in words)
        if argv not in finished:  # a command without {path} is the same for each file
            finished.add(argv)
            if complaint := _complaint(argv, session, deadline):
                yield f"[{' '.join(argv)}: {complaint}]"


def _complaint(argv: tuple[str, ...], session: SessionInfo, deadline: float) -> str:
    cwd = session.cwd
    env = environment(os.environ, workspace=cwd)
    path = env.get("PATH", "")
    program = find_program(argv[0], path, cwd)
    if not program:
        return "there is no such program outside the workspace; give its path"
    try:
        process = subprocess.Popen(
            # A linter may run code of the project, such as that of its own configuration.
            session.wrap([program, *argv[1:]]),
            cwd=cwd,
            env={**env, "PATH": without_workspace(path, cwd)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ToolError) as error:
        return f"it does not start: {getattr(error, 'strerror', error)}"
    with process:
        try:
            output = _output(process, deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "it took too long and was stopped"
    return f"exit code {code}\n{_clip(output)}" if code else ""


def _output(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """Return the beginning of the output of *process*, until it closes it.

    Raises: subprocess.TimeoutExpired.
    """
    stream = cast("IO[bytes]", process.stdout)
    text = b""
    with stream:  # a process that writes more than is read ends by a broken pipe
        while len(text) < MAX_BYTES:
            rest = deadline - time.monotonic()
            if rest <= 0 or not select.select([stream], [], [], rest)[0]:
                raise subprocess.TimeoutExpired(process.args, rest)
            piece = os.read(stream.fileno(), MAX_BYTES)
            if not piece:
                break
            text += piece
    return text


def _clip(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    beginning = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARS]
    missing = len(lines) - SHOWN_LINES
    return f"{beginning}\n... {missing} more lines" if missing > 0 else beginning
