"""Describe plugins in a child process, isolated from crashes and hangs."""

import json
import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

HANDED_ON = ("HOME", "LANG", "TMPDIR", "PYTHONUSERBASE", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE")
"""Environment variables for the child. Keys are not among them: a new plugin is unverified."""


def describe_in_child(
    code: str, plugins: Sequence[tuple[str, str]], deadline_s: float
) -> dict[str, dict[str, Any]]:
    """Describe each plugin in a child process, which runs *code*: it calls `serve`.

    If one ends or hangs the child, that one gets the error and a new child describes the rest. The
    description of one that timed out has `late`.
    """
    answers: dict[str, dict[str, Any]] = {}
    rest = list(plugins)
    while rest:
        described, failure = _ask_child(code, rest, deadline_s)
        answers.update(described)
        rest = [pair for pair in rest if pair[0] not in answers]
        if rest:
            # They are described in order, so the first without an answer caused the end.
            name, _ = rest.pop(0)
            answers[name] = dict(failure)
    return answers


def _ask_child(
    code: str, plugins: Sequence[tuple[str, str]], deadline_s: float
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the received descriptions, and that of the failure of the first missing one."""
    import subprocess

    # -P: nothing may be imported from the current directory.
    flags = ["-I"] if sys.flags.isolated else ["-P"]
    if sys.pycache_prefix is not None:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    with subprocess.Popen(
        [sys.executable, *flags, "-c", code, json.dumps(list(plugins))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_child_environment(),
        start_new_session=True,
    ) as process:
        pipe = process.stdout.fileno() if process.stdout else -1
        lines, is_late = _lines_until_silence(pipe, len(plugins), deadline_s)
        # Killed also after all answers: a plugin's thread could keep it alive.
        process.kill()
    answers = dict(json.loads(line) for line in lines)
    if is_late:
        return answers, {"error": f"its import took over {deadline_s:g} s", "late": True}
    return answers, {"error": "the import ended the process"}


def _child_environment() -> dict[str, str]:
    """Return the child's environment; PYTHONPATH keeps only entries of our own `sys.path`."""
    environment = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    # A project's directory in our PATH must not supply programs for a plugin.
    environment["PATH"] = os.defpath
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    trusted = [entry for entry in inherited if os.path.abspath(entry) in sys.path]  # as `site` does
    return {**environment, "PYTHONPATH": os.pathsep.join(trusted)} if trusted else environment


def _lines_until_silence(
    descriptor: int, expected: int, deadline_s: float
) -> tuple[list[bytes], bool]:
    """Read lines until *expected* ones, the end of the writer, or a timeout without input."""
    data = b""
    while data.count(b"\n") < expected:
        ready, _, _ = select.select([descriptor], [], [], deadline_s)
        if not ready:
            return data.split(b"\n")[:-1], True
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            break
        data += piece
    return data.split(b"\n")[:-1], False


def serve(describe: Callable[[str, str], Mapping[str, Any]]) -> NoReturn:
    """Read [[name, module], …] from the argument; write a line of JSON for each to stdout."""
    plugins: list[list[str]] = json.loads(sys.argv.pop())
    # A copy, before standard output is redirected.
    out = os.dup(1)
    # A plugin that prints at import must not write into the answers.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for name, module in plugins:
        data = (json.dumps([name, describe(name, module)]) + "\n").encode()
        while data:
            data = data[os.write(out, data) :]
    # Without atexit functions of plugins, which may hang.
    os._exit(0)
