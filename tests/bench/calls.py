"""Count what a call costs early and late in a run: instructions, functions, texts searched.

    python tests/bench/calls.py [--bin DIR]

Instructions are counted under valgrind, the rest in runs of their own. A hand-over gives work to
another thread, so that a deadline can end the wait; a text is searched for secrets. Each row is of
20 calls, in which all kinds of calls have their share: a run of that many more calls, less one
without them. Late calls should cost what early ones do, or a long run costs more than its calls.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from instructions import ALONE, count
from measure import ORDER, Bench, make_repository, script, serving

Turns = Sequence[Mapping[str, Any]]

CALLS = len(ORDER)
FUNCTIONS = "*"
"""Stands for all functions of Python in what is counted."""
COUNTED = {"run_each": "hand-overs", "may_hold_secret": "texts searched"}
"""The functions of nanocoder whose calls are counted."""
PROGRAM = f"""
import json
import os
import sys
import threading
from collections import Counter

counts = Counter()
leave = os._exit


def note(frame, event, _argument):
    if event == "call":
        counts[{FUNCTIONS!r}] += 1
        if frame.f_code.co_name in {list(COUNTED)}:
            counts[frame.f_code.co_name] += 1


def count_and_leave(status):
    with open(GOAL, "w") as file:
        json.dump(counts, file)
    leave(status)


os._exit = count_and_leave
threading.setprofile(note)
sys.setprofile(note)
{ALONE}"""


def played(bench: Bench, turns: Turns, run: Callable[[Sequence[str]], int]) -> int:
    """Return what *run* says of a headless run of these turns, whose command it gets."""
    with serving([*turns, {"text": "done"}]) as server:
        make_repository(bench.work)
        return run(bench.ask(server.port))


def counts(bench: Bench, turns: Turns) -> dict[str, int]:
    """Return how often the functions are called in a run of these turns."""
    goal = bench.work.parent / "counts.json"
    program = PROGRAM.replace("GOAL", repr(str(goal)))
    played(bench, turns, lambda ask: len(bench.once(bench.python, "-c", program, *ask)))
    return dict(json.loads(goal.read_text()))


def instructions(bench: Bench, calls: int) -> int:
    """Return how many instructions a run of so many calls takes."""
    return played(bench, script(calls), lambda ask: count(bench, [bench.python, "-c", ALONE, *ask]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--early", type=int, default=CALLS, help="calls before the early ones")
    parser.add_argument("--late", type=int, default=9 * CALLS, help="calls before the late ones")
    options = parser.parse_args()
    print("| calls | million instructions | hand-overs | texts searched |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.bin.absolute(), 1, Path(scratch))
        counts(bench, script(1))  # what the first start caches is there for the next
        for first in (options.early, options.late):
            row = [(instructions(bench, first + CALLS) - instructions(bench, first)) / 1e6]
            before, after = (counts(bench, script(first + more)) for more in (0, CALLS))
            row += [after.get(name, 0) - before.get(name, 0) for name in COUNTED]
            shown = (f"{figure / CALLS:.1f}" for figure in row)
            print(f"| {first + 1} to {first + CALLS} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
