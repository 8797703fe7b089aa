"""Count what a call costs early and late in a run: instructions, functions, files, threads.

    python tests/bench/calls.py [--bin DIR]

Instructions are counted under valgrind, the rest in one more run. A hand-over gives work to
another thread, so that a deadline can end the wait; a text is searched for secrets. Each row is of
20 calls, in which all kinds of calls have their share. Late calls should cost what early ones do,
or a long run costs more than its calls.
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
Counts = Mapping[str, int]

CALLS = len(ORDER)
REQUEST = "Runtime.next_request"
"""The function of nanocoder that is called once for each request."""
FUNCTIONS = {
    "run_each": "hand-overs",
    "CleanTexts.may_hold_secret": "texts searched",
    "Thread.start": "threads started",
}
"""The functions whose calls are counted, besides those of all functions."""
EVENTS = {"open": "files opened", "os.rename": "files renamed", "subprocess.Popen": "processes"}
"""The audit events that are counted."""
PROGRAM = f"""
import json
import os
import sys
import threading
from collections import Counter

counts, requests = Counter(), []
leave, flush = os._exit, os.fsync


def note(frame, event, _argument):
    if event == "call":
        name = frame.f_code.co_qualname
        counts["functions"] += 1
        if name in FUNCTIONS:
            counts[FUNCTIONS[name]] += 1
        if name == {REQUEST!r}:
            add()


def hear(event, _arguments):
    if event in EVENTS:
        counts[EVENTS[event]] += 1


def count_flush(descriptor):
    counts["files flushed"] += 1
    flush(descriptor)


def add():
    with open("/proc/self/io") as file:
        writes = next(int(line.split()[1]) for line in file if line.startswith("syscw"))
    requests.append({{**counts, "modules": len(sys.modules), "writes": writes}})


def count_and_leave(status):
    add()
    with open(GOAL, "w") as file:
        json.dump(requests, file)
    leave(status)


FUNCTIONS, EVENTS = {FUNCTIONS}, {EVENTS}
os._exit, os.fsync = count_and_leave, count_flush
sys.addaudithook(hear)
threading.setprofile(note)
sys.setprofile(note)
{ALONE}"""


def played(bench: Bench, turns: Turns, run: Callable[[Sequence[str]], int]) -> int:
    """Return what *run* says of a headless run of these turns, whose command it gets."""
    with serving([*turns, {"text": "done"}]) as server:
        make_repository(bench.work)
        return run(bench.ask(server.port))


def counts(bench: Bench, turns: Turns) -> list[Counts]:
    """Return what was counted up to each request of a run of these turns, and up to its end.

    "writes" and "modules" are those of the whole process; the others count from its first line.
    """
    goal = bench.work.parent / "counts.json"
    program = PROGRAM.replace("GOAL", repr(str(goal)))
    played(bench, turns, lambda ask: len(bench.once(bench.python, "-c", program, *ask)))
    return list(json.loads(goal.read_text()))


def between(before: Counts, after: Counts, calls: int) -> dict[str, float]:
    """Return what each of *calls* calls took on average."""
    return {name: (after[name] - before.get(name, 0)) / calls for name in after}


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
    columns = ("functions", *FUNCTIONS.values(), *EVENTS.values(), "files flushed", "writes")
    print(f"| calls | million instructions | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 2) + "|")
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.bin.absolute(), 1, Path(scratch))
        counts(bench, script(1))  # what the first start caches is there for the next
        requests = counts(bench, script(max(options.early, options.late) + CALLS))
        for first in (options.early, options.late):
            million = (instructions(bench, first + CALLS) - instructions(bench, first)) / 1e6
            costs = between(requests[first], requests[first + CALLS], CALLS)
            shown = (f"{figure:.1f}" for figure in map(costs.get, columns, [0] * len(columns)))
            row = f"| {first + 1} to {first + CALLS} | {million / CALLS:.1f} |"
            print(f"{row} {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
