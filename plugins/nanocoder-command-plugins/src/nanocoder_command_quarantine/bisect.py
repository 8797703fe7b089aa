"""Finds the plugin without which a command works, by halves; each try is a process of its own."""

import os
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError, one_line

from nanocoder_command_quarantine.quarantine import write

TRY_S: Final = 120.0
"""Timeout of one try, in seconds; a try that exceeds it has failed."""
LINE: Final = 300
RUNS: Final = frozenset({0, 3, 6})
"""Exit codes of a command that no plugin broke: done, approval needed, denied."""
OWN: Final = frozenset({"command-quarantine"})
GATES: Final = ("before_execute", "after_execute", "before_request", "readable")
Works = Callable[[Sequence[str]], bool]


def run(arguments: Namespace, host: Host) -> int:
    """Name the plugin that breaks the command; returns 0 if there is one, or nothing is broken."""
    words = [*arguments.words][arguments.words[:1] == ["--"] :] or ["tools"]
    if words[:2] == ["plugins", "bisect"]:
        raise UsageError("plugins bisect cannot look for what breaks itself; name another command")
    candidates = _candidates(host)
    with tempfile.TemporaryDirectory(prefix="nanocoder-bisect-") as folder:

        def works(left_out: Sequence[str]) -> bool:
            return not _fault(words, left_out, Path(folder), host.cwd)

        command = f"`nanocoder {shlex.join(words)}`"
        fault = _fault(words, [], Path(folder), host.cwd)
        if not fault:
            host.print_line(f"{command} works: no plugin breaks it")
            return 0
        host.say(f"{command} fails: {fault}")
        host.say(f"trying it without some of {len(candidates)} plugins, again and again…")
        group = working_group(candidates, works)
        if not group:
            host.print_line(f"{command} fails without each of the plugins, too")
            return 1
        culprits = find_culprits(group, works)
    host.print_line(f"{command} works without {' and '.join(culprits)}")
    host.print_line(f"To leave it out: nanocoder config set plugins.disable '[\"{culprits[0]}\"]'")
    return 0


def working_group(candidates: Sequence[str], works: Works) -> Sequence[str]:
    """Return neighbours among *candidates* without which it works, as many as possible, or none.

    The command may need some of the plugins, such as the one whose tool it calls.
    """
    size = len(candidates)
    while size:
        for start in range(0, len(candidates), size):
            group = candidates[start : start + size]
            if works(group):
                return group
        size = (size + 1) // 2 if size > 1 else 0
    return ()


def find_culprits(candidates: Sequence[str], works: Works) -> list[str]:
    """Return the fewest of *candidates* without which it works, each found by halves.

    *works* tells whether it works without some plugins; it does without all of them. Several are
    returned where each of them breaks it.
    """
    culprits: list[str] = []
    while not works(culprits):
        # Without the first *high* plugins it works, without the first *low* it does not.
        low, high = 0, len(candidates)
        while high - low > 1:
            middle = (low + high) // 2
            if works([*culprits, *candidates[:middle]]):
                high = middle
            else:
                low = middle
        culprits.append(candidates[high - 1])
    return culprits


def _candidates(host: Host) -> list[str]:
    """Return the plugins that may be left out: a policy may not, and its error names it anyway."""
    return [
        name
        for name, entry in host.plugins.entries.items()
        if name not in OWN
        and not entry.is_policy
        and not any(_names_a_gate(path) for path, _ in entry.description.get("files", ()))
    ]


def _names_a_gate(path: str) -> bool:
    """Return True if a plugin that is left out would be taken for a policy by its source."""
    with suppress(OSError):
        text = Path(path).read_text("utf-8", "replace")
        return any(f"nanocoder_{gate}" in text for gate in GATES)
    return True


def _fault(words: Sequence[str], left_out: Sequence[str], folder: Path, cwd: Path) -> str:
    """Return the end of the command's error output, or "" if it succeeds."""
    # Sessions of this try are not the user's.
    write(folder / "nanocoder", dict.fromkeys(left_out, "left out for a try"))
    env = {**os.environ, "XDG_STATE_HOME": str(folder)}
    # A file, not a pipe: processes that the command leaves running would hold a pipe open.
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nanocoder", *words],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        with process:
            try:
                if process.wait(TRY_S) in RUNS:
                    return ""
            except subprocess.TimeoutExpired:
                return f"it takes more than {TRY_S:.0f} s"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
        stderr.seek(0)
        text = stderr.read().decode(errors="replace").strip()
    last = " ".join(line.removeprefix("nanocoder: ") for line in text.splitlines()[-3:])
    return one_line(last, LINE) if last else f"it ends with exit code {process.returncode}"
