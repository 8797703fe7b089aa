"""Measure snapshots of 5,000 files; run it with `uv run python`.

Prints wall and processor time in milliseconds, the least and the median of 20.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from nanocoder import SessionInfo
from nanocoder_undo_snapshots.recorder import Recorder
from nanocoder_undo_snapshots.settings import Settings

FOLDERS, FILES, ROUNDS = 100, 50, 20


def measure(name: str, prepare: Callable[[int], object], recorder: Recorder) -> None:
    """Print how long the snapshot before a call takes after *prepare*."""
    walls, cpus = [], []
    for number in range(ROUNDS):
        prepare(number)
        wall, cpu = time.perf_counter(), time.process_time()
        recorder.start(name)
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    figures = f"{min(walls):.0f} (median {median(walls):.0f}), processor {min(cpus):.0f}"
    sys.stdout.write(f"{name}: {figures} ms\n")


def main() -> None:
    """Make 5,000 files, then measure."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "work")
        for number in range(FOLDERS * FILES):
            path = root / f"d{number % FOLDERS}" / f"f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# {number}\n" * 100)
        time.sleep(0.1)
        session = SessionInfo("s", root, folder=Path(folder, "state/sessions/s"))
        recorder = Recorder.of_session(session, Settings())
        began = time.perf_counter()
        recorder.start("first")
        sys.stdout.write(
            f"the first of a workspace: {(time.perf_counter() - began) * 1e3:.0f} ms\n"
        )
        measure("nothing changed", lambda _: None, recorder)

        def change(number: int) -> None:
            for other in range(3):
                (root / f"d{other}" / f"f{other}.py").write_text(f"{number} {other}\n")

        measure("three files changed", change, recorder)


if __name__ == "__main__":
    main()
