"""The process that imports plugins to describe them, so that one that hangs harms nobody."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

HANDED_ON = ("HOME", "LANG", "TMPDIR", "PYTHONUSERBASE", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE")
"""Our variables that an import may need. Keys stay out: a new plugin has not been judged yet."""

_CHILD = "from nanocoder.plugins.introspect import main; main()"


def describe_in_child(
    plugins: Sequence[tuple[str, str]], deadline_s: float
) -> dict[str, dict[str, Any]]:
    """Describe each plugin in a child process.

    When one ends or hangs the child, blame that one and go on with the rest. The description of
    one that took too long has `late`.
    """
    answers: dict[str, dict[str, Any]] = {}
    rest = list(plugins)
    while rest:
        described, failure = _ask_child(rest, deadline_s)
        answers.update(described)
        rest = [pair for pair in rest if pair[0] not in answers]
        if rest:
            name, _ = rest.pop(0)
            answers[name] = dict(failure)
    return answers


def _ask_child(
    plugins: Sequence[tuple[str, str]], deadline_s: float
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the descriptions that came, and what is wrong with the first that did not."""
    import subprocess

    # -P: the current directory must not be importable here either.
    flags = ["-I"] if sys.flags.isolated else ["-P"]
    if sys.pycache_prefix is not None:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    with subprocess.Popen(
        [sys.executable, *flags, "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_child_environment(),
        start_new_session=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the pipes of the describing process are missing")
        try:
            process.stdin.write(json.dumps(list(plugins)).encode())
            process.stdin.close()
        except BrokenPipeError:
            return {}, {"error": "the describing process could not start"}
        lines, is_late = _lines_until_silence(process.stdout.fileno(), len(plugins), deadline_s)
        process.kill()
    answers = dict(json.loads(line) for line in lines)
    if is_late:
        return answers, {"error": f"its import took over {deadline_s:g} s", "late": True}
    return answers, {"error": "the import ended the process"}


def _child_environment() -> dict[str, str]:
    """Return what an import needs, and of PYTHONPATH what our own module search path has."""
    environment = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
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
