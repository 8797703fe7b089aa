"""How long a process takes to start and end, for the tests of each sandbox."""

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PROGRAM = ["/bin/true"]
RUNS = 200


def quickest(argv: Callable[[], Sequence[str]], folder: Path, runs: int) -> float:
    """Return the least milliseconds of *runs*: other programs only make it slower."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run(argv(), cwd=folder, check=True, stdin=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return 1_000 * min(times)
