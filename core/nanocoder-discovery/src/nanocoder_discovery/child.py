"""Plugins described in a child process: one that crashes or hangs harms nothing."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

HANDED_ON = ("HOME", "LANG", "TMPDIR", "PYTHONUSERBASE", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE")
"""Our variables that an import may need. Keys stay out: a new plugin has not been judged yet."""


def describe_in_child(
    code: str, plugins: Sequence[tuple[str, str]], deadline_s: float
) -> dict[str, dict[str, Any]]:
    """Describe each plugin in a child process, which runs *code*: it calls `serve`.

    When one ends or hangs the child, blame that one and go on with the rest. The description of
    one that took too long has `late`.
    """
    answers: dict[str, dict[str, Any]] = {}
    rest = list(plugins)
    while rest:
        described, failure = _ask_child(code, rest, deadline_s)
        answers.update(described)
        rest = [pair for pair in rest if pair[0] not in answers]
        if rest:
            # They are described in order, so the first without an answer is the one to blame.
            name, _ = rest.pop(0)
            answers[name] = dict(failure)
    return answers


def _ask_child(
    code: str, plugins: Sequence[tuple[str, str]], deadline_s: float
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the descriptions that came, and what is wrong with the first that did not."""
    import subprocess

    # -P: the current directory must not be importable here either.
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
        # Also after all answers: a thread of a plugin would keep it alive.
        process.kill()
    answers = dict(json.loads(line) for line in lines)
    if is_late:
        return answers, {"error": f"its import took over {deadline_s:g} s", "late": True}
    return answers, {"error": "the import ended the process"}


def _child_environment() -> dict[str, str]:
    """Return the child's environment; PYTHONPATH keeps only entries of our own `sys.path`."""
    environment = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    # A folder of a project in our PATH must not decide what a plugin starts.
    environment["PATH"] = os.defpath
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    trusted = [entry for entry in inherited if os.path.abspath(entry) in sys.path]  # as `site` does
    return {**environment, "PYTHONPATH": os.pathsep.join(trusted)} if trusted else environment


def _lines_until_silence(
    descriptor: int, expected: int, deadline_s: float
) -> tuple[list[bytes], bool]:
    """Read lines until *expected* came, the writer ended, or nothing came for the deadline."""
    import select

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
    # A copy, before standard output is turned away.
    out = os.dup(1)
    # A plugin that prints at import must not write into the answers.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for name, module in plugins:
        data = (json.dumps([name, describe(name, module)]) + "\n").encode()
        while data:
            data = data[os.write(out, data) :]
    # Without the functions that plugins registered for the end: one that hangs would hold us up.
    os._exit(0)
