"""Solve HumanEval's problems with the model alone and through the whole agent.

    python tests/bench/humaneval.py [--data FILE] [--first N | --sample N] [--form FORM]
                                    [--model P/M] [--bin DIR] [--json FILE] [--keep FOLDER]

The problems are those of the suite `eval-humaneval` (`HumanEval.jsonl.gz`).
Alone, the model gets a problem in a chat and writes a fenced block; through the agent, the request
begins with the same sentence and asks for the file `solution.py`, which has to be right as it is.
Both run at temperature 0, and the same tests judge both. A sample is drawn with a fixed seed, so
that both forms, today and later, get the same problems. With `--json`, a run goes on where it was
ended.

What the model wrote is run on this machine, in a folder of its own and for ten seconds at most.
"""

import argparse
import gzip
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from attrs import frozen
from everyday import run
from forms import Outcome, add_options, measure, summary
from nanocoder import Cancel, Finished, Message, Request

DATA = next((Path(__file__).parents[2] / "contrib/evals").glob("*-eval-humaneval/src/*/data/*.gz"))
SEED: Final = 164
CHECK_S: Final = 10
FENCE = re.compile(r"```[a-z]*\n(.*?)(?:```|\Z)", re.DOTALL)
ALONE = "Complete this function. Reply with the whole code in one block.\n\n```python\n{}```"
REQUEST = "Complete this function. Write the whole code into the file solution.py.\n\n{}"

Solver = Callable[["Problem"], tuple[str, str]]
"""From a problem to the program for it, and why the work on it ended."""


@frozen
class Problem:
    """A function with its docstring but without its body, and the tests that judge it."""

    task_id: str
    prompt: str
    entry_point: str
    test: str
    canonical_solution: str


def problems(data: Path) -> list[Problem]:
    """Return all problems, in their own order."""
    with gzip.open(data, "rt", encoding="utf-8") as lines:
        return [Problem(**json.loads(line)) for line in lines]


def passes(problem: Problem, code: str) -> bool:
    """Run the problem's tests on *code* in a process and a folder of their own."""
    program = f"{code}\n{problem.test}\ncheck({problem.entry_point})\n"
    with tempfile.TemporaryDirectory(prefix="humaneval-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CHECK_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def code_of(problem: Problem, reply: str) -> str:
    """Return the program of a reply in a chat: the prompt's imports, and the first block.

    A block with the body alone goes beneath the prompt's own head.
    """
    block = FENCE.search(reply)
    code = block[1] if block else reply
    is_full = f"def {problem.entry_point}(" in code
    return f"{problem.prompt}    pass\n\n{code}" if is_full else problem.prompt + code


def alone(model: str) -> Solver:
    """Return what asks the model in a chat, without tools, system text or grammar."""
    kind, _, name = model.partition("/")
    (entry,) = entry_points(group="nanocoder", name=f"provider-{kind}")
    plugin = entry.load()
    provider = plugin.nanocoder_providers()[0].open(name, plugin.nanocoder_settings()())

    def solve(problem: Problem) -> tuple[str, str]:
        question = Message("user", ALONE.format(problem.prompt))
        request = Request(name, "", [question], temperature=0.0)
        *_, finished = provider.stream(request, Cancel())
        assert isinstance(finished, Finished)
        return code_of(problem, finished.text), "truncated" if finished.truncated else "done"

    return solve


def through_agent(model: str, program: str) -> Solver:
    """Return what lets nanocoder write the function into a file of a new folder."""

    def solve(problem: Problem) -> tuple[str, str]:
        with tempfile.TemporaryDirectory(prefix="humaneval-") as scratch:
            report = run(program, model, REQUEST.format(problem.prompt), Path(scratch))
            file = Path(scratch) / "solution.py"
            code = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        return code, report.get("stop_reason", "")

    return solve


def attempt(problem: Problem, form: str, solve: Solver, keep: Path | None = None) -> Outcome:
    """Solve one problem, and run its tests; the program is kept in the folder *keep*."""
    started = time.monotonic()
    code, stopped = solve(problem)
    seconds = round(time.monotonic() - started, 1)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        name = f"{problem.task_id.replace('/', '-')}-{form}.py"
        (keep / name).write_text(code, encoding="utf-8")
    return Outcome(problem.task_id, form, passes(problem, code), seconds, stopped)


def chosen(every: Sequence[Problem], first: int, sample: int) -> Sequence[Problem]:
    """Return the first problems, a sample with a fixed seed, or all.

    A larger sample begins with the smaller one.
    """
    if sample:
        return random.Random(SEED).sample(every, len(every))[:sample]
    return every[:first] if first else every


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="default: that of the suite")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--keep", type=Path, help="a folder for the programs that were judged")
    add_options(parser)
    options = parser.parse_args()
    solvers = {
        "model": alone(options.model),
        "agent": through_agent(options.model, str(options.bin.absolute() / "nanocoder")),
    }
    every = chosen(problems(options.data), options.first, options.sample)
    outcomes = measure(
        {problem.task_id: problem for problem in every},
        lambda problem, form: attempt(problem, form, solvers[form], options.keep),
        options,
    )
    print("\n".join(summary(outcomes)))


if __name__ == "__main__":
    main()
