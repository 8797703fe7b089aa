"""Measure edit_file and read_file on large files, through the whole path of a call.

    python tests/bench/edits.py [--runs N] [--write]

Each figure is the median and the least of N warm calls in one session, beside a floor that does
only what cannot be left out, run in turn. Nothing here asserts a time. *--write* puts the table
into figures.txt.
"""

import argparse
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import measure

LINE = "line number {} of a large file that an edit changes\n"
LARGE_LINES = 91_111  # 5,000,000 bytes
FUZZY_LINES = 20_000
PAUSE_S = 0.2  # a limit on dangerous calls lets five a second through
HUGE_BYTES = 1_000_000_000
FUNCTION = "def function_{0}(value):\n    total = value * {0}\n    total += 1\n    return total\n\n"


class Bench:
    """Calls tools in one session, and keeps the rows of the table."""

    def __init__(self, root: Path, runs: int) -> None:
        import nanocoder  # the environment says where it keeps its files, so late

        self.root = root
        self.runs = runs
        self.rows: list[tuple[str, str, str]] = []
        self.session = nanocoder.open_session(root, mode="auto")

    def call(self, name: str, **arguments: Any) -> Any:
        """Run one call and return the data of its last event."""
        events = list(self.session.call(name, arguments))
        return next(one.data for one in reversed(events) if one.kind == "call.returned")

    def row(self, what: str, call: Callable[[int], Any], floor: Callable[[int], Any]) -> None:
        """Time *call* and *floor* in turn; both get the number of the run."""
        for one in (call, floor):
            one(0)
        ours, theirs = [], []
        for run in range(1, self.runs + 1):
            time.sleep(PAUSE_S)
            ours.append(timed(call, run))
            theirs.append(timed(floor, run))
        low, other = statistics.median(ours), statistics.median(theirs)
        self.note(
            what,
            f"{low:.1f} ms (least {min(ours):.1f})",
            f"{low / other:.1f} x the floor ({other:.1f} ms, least {min(theirs):.1f})",
        )

    def note(self, what: str, figure: str, beside: str = "") -> None:
        """Print a row and keep it."""
        self.rows.append((what, figure, beside))
        print(" | ".join(self.rows[-1]))

    def edit_large(self) -> None:
        """Change one line in the middle of 5 MB; the floor writes a backup and a new file."""
        self.write("large.txt", (LINE.format(n) for n in range(LARGE_LINES)))
        self.write("floor.txt", (LINE.format(n) for n in range(LARGE_LINES)))
        old = [f"line number {LARGE_LINES // 2}{'!' * n} " for n in range(self.runs + 2)]

        def call(run: int) -> None:
            self.edited("large.txt", old[run], old[run + 1])

        def floor(run: int) -> None:
            path = self.root / "floor.txt"
            data = path.read_bytes()
            (self.root / "backup").write_bytes(data)
            replace(path, data.replace(old[run].encode(), old[run + 1].encode()))

        self.row("edit a line of 5 MB", call, floor)

    def edit_often(self) -> None:
        """Change ten lines of 5 MB in one call; the floor reads and counts."""
        text = [LINE.format(n) for n in range(LARGE_LINES)]
        self.write("often.txt", text)
        lines = [f"number {n * LARGE_LINES // 11}" for n in range(1, 11)]

        def call(run: int) -> None:
            edits = [
                {
                    "old_string": f"{line}{'!' * run} of",
                    "new_string": f"{line}{'!' * (run + 1)} of",
                }
                for line in lines
            ]
            data = self.call("edit_file", path="often.txt", edits=edits)
            assert data["status"] == "ok", data

        def floor(_: int) -> None:
            replace(self.root / "floor.txt", (self.root / "often.txt").read_bytes())

        self.row("ten edits of 5 MB in one call", call, floor)

    def edit_small(self) -> None:
        """Change one line of 20 KB."""
        text = [LINE.format(n) for n in range(400)]
        self.write("small.txt", text)
        old = [f"line number 200{'!' * n} " for n in range(self.runs + 2)]
        self.row(
            "edit a line of 20 KB",
            lambda run: self.edited("small.txt", old[run], old[run + 1]),
            lambda _: replace(self.root / "floor.txt", "".join(text).encode()),
        )

    def edit_fuzzily(self) -> None:
        """Find a block whose middle differs, and one that is nowhere, in 20,000 lines."""
        blocks = [FUNCTION.format(n) for n in range(FUZZY_LINES // 5)]
        self.write("code.txt", blocks)
        middle = FUZZY_LINES // 10
        whole = "".join(blocks).encode()

        def call(run: int) -> None:
            block = FUNCTION.format(middle).rstrip()
            old, new = (block.replace("+= 1", f"+= {run + 100 * n}") for n in (1, 2))
            data = self.edited("code.txt", old, new)
            assert data["metadata"]["strategy"] == "fuzzy_anchor", data

        def lost(run: int) -> None:
            data = self.call(
                "edit_file", path="code.txt", old_string=f"x = totally({run})", new_string="y"
            )
            assert data["error_class"] == "text_not_found", data

        def floor(_: int) -> None:
            replace(self.root / "floor.txt", whole)

        self.row("fuzzy anchor in 20,000 lines", call, floor)
        self.row("a text that is not in 20,000 lines", lost, floor)

    def read_large(self) -> None:
        """Read 50 lines of 5 MB; the floor reads all and counts the lines."""

        def floor(_: int) -> int:
            return (self.root / "large.txt").read_bytes().count(b"\n")

        for offset in (1, LARGE_LINES // 2):
            what = f"read 50 lines of 5 MB, from line {offset:,}"
            self.row(what, lambda _, at=offset: self.read("large.txt", at, 50), floor)  # type: ignore[misc]

    def read_huge(self) -> None:
        """Read windows of 1 GB; what is measured is how much the process grows."""
        path = self.root / "huge.txt"
        self.write(path.name, (LINE.format(n) for n in range(LARGE_LINES)))
        with path.open("r+b") as file:  # the middle is a hole: one line of nearly 1 GB
            file.seek(HUGE_BYTES)
            file.write("".join("\n" + LINE.format(n) for n in range(50)).encode())
        for what, offset in (("at the beginning", 10), ("behind a line of 1 GB", LARGE_LINES + 2)):
            before = peak_mb()
            took = timed(lambda _, at=offset: self.read(path.name, at, 50), 0)  # type: ignore[misc]
            grown = peak_mb() - before
            self.note(
                f"read 50 lines of 1 GB {what}",
                f"{took:.0f} ms",
                f"+{grown:.1f} MB memory, {peak_mb():.0f} MB in all",
            )

    def edited(self, path: str, old: str, new: str) -> Any:
        """Edit a file and return the result."""
        data = self.call("edit_file", path=path, old_string=old, new_string=new)
        assert data["status"] == "ok", data
        return data

    def read(self, path: str, offset: int, limit: int) -> Any:
        """Read a window and return the result."""
        data = self.call("read_file", path=path, offset=offset, limit=limit)
        assert data["status"] == "ok", data
        return data

    def write(self, name: str, lines: Any) -> None:
        """Make a file."""
        with (self.root / name).open("w", encoding="utf-8") as file:
            file.writelines(lines)


def timed(work: Callable[[int], Any], run: int) -> float:
    """Return the milliseconds that *work* takes."""
    started = time.perf_counter()
    work(run)
    return (time.perf_counter() - started) * 1000


def replace(path: Path, data: bytes) -> None:
    """Replace a file durably: write beside it, flush, rename, flush the directory."""
    beside = path.with_name("beside")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def peak_mb() -> float:
    """Return the largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    scratch = Path(tempfile.mkdtemp())
    try:
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(scratch / name)
        (scratch / "work").mkdir()
        bench = Bench(scratch / "work", options.runs)
        bench.read_huge()  # first: the largest size so far is what is looked at
        bench.edit_large()
        bench.edit_often()
        bench.edit_small()
        bench.edit_fuzzily()
        bench.read_large()
        bench.session.close()
    finally:
        shutil.rmtree(scratch)
    if options.write:
        measure.write(bench.rows, "edits")


if __name__ == "__main__":
    main()
