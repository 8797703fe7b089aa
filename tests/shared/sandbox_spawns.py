"""How long a process takes to start and end, for the tests of each sandbox."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from unittest import mock

PROGRAM = ["/bin/true"]
RUNS = 200


def quickest(
    argv: Callable[[], Sequence[str]],
    folder: Path,
    runs: int,
    between: Callable[[], object] = list,
) -> float:
    """Return the least milliseconds of *runs*: other programs only make it slower.

    What is done *between* two of them, as while a model thinks, is not measured.
    """
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run(argv(), cwd=folder, check=True, stdin=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
        between()
    return 1_000 * min(times)


def steps_of(prepare: Callable[[], object]) -> int:
    """Return how many functions of Python *prepare* calls, the third time.

    The machine counts as one where no program listens: each socket takes a few steps more. So does
    each folder above the workspace while its path is resolved: posixpath's functions do not count.
    """
    with mock.patch("nanocoder_kit_sandbox.hidden._socket_names", return_value=set()):
        return _third_time(prepare)


def _third_time(prepare: Callable[[], object]) -> int:
    for _ in range(2):
        prepare()
    calls = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_globals.get("__name__") != "posixpath"

    sys.setprofile(note)
    try:
        prepare()
    finally:
        sys.setprofile(None)
    return calls
