"""Measure two installations of nanocoder in turn: an earlier one, and one of today.

    python tests/bench/before_after.py BEFORE AFTER [--runs N]

BEFORE and AFTER are the `bin` directories of environments with nanocoder installed from wheels.
Each row is the median of the paired ratios, after by before, of wall time and of CPU time. What
else the machine does meets both of a pair, so the ratios hold on a busy machine, too.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Bench, make_repository, script, serving

Command = Callable[[Bench], Sequence[str]]


def compare(what: str, benches: Sequence[Bench], command: Command, runs: int) -> None:
    """Run the command of both in turn, and print what the pairs say."""
    pairs = []
    for number in range(-1, runs):  # the first pair fills the caches
        measured = []
        for bench in benches:
            make_repository(bench.work)
            measured.append(bench.once(*command(bench)))
        if number >= 0:
            pairs.append(measured)
    wall, cpu = (
        statistics.median(after[kind] / before[kind] for before, after in pairs) for kind in (0, 1)
    )
    earlier, today = (statistics.median(pair[side][0] for pair in pairs) * 1000 for side in (0, 1))
    print(f"| {what} | {earlier:.1f} ms | {today:.1f} ms | {wall:.2f} | {cpu:.2f} |", flush=True)


def compare_runs(
    what: str, benches: Sequence[Bench], turns: Sequence[Mapping[str, Any]], runs: int
) -> None:
    """Compare a whole headless run with these turns of a scripted server."""
    with serving(turns) as server:

        def ask(bench: Bench) -> Sequence[str]:
            server.seen()  # the server forgets what it saw, and begins with the first turn
            return bench.ask(server.port)

        compare(what, benches, ask, runs)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    print("| what | before | after | wall | CPU |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        benches = []
        for name in ("before", "after"):
            folder = Path(scratch) / name
            folder.mkdir()
            binaries = getattr(options, name).absolute()
            benches.append(Bench(binaries, options.runs, folder))
        for word in ("--version", "--help", "tools"):
            compare(word, benches, lambda bench, word=word: [bench.nanocoder, word], options.runs)
        end = {"text": "done"}
        compare_runs("one prompt, one reply", benches, [end], options.runs)
        compare_runs("20 calls, whole process", benches, [*script(20), end], options.runs)
        few = max(3, options.runs // 5)
        compare_runs("200 calls, whole process", benches, [*script(200), end], few)


if __name__ == "__main__":
    main()
