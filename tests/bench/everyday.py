"""Let nanocoder do everyday tasks with a model, and count how many a checker finds solved.

    python tests/bench/everyday.py [--model P/M] [--half HALF] [--bin DIR] [--json FILE] [NAME ...]

A task is a TOML file of the plugin `eval-everyday`: a prompt, the files of a folder, a check in
Python that fails in the untouched folder, and a solution that passes it. Prompts and rules may be
tuned on the half `tuned` alone; what holds for others is what the half `held-out` shows. Nothing
here asserts a figure: one run at temperature 0, where a difference of one task is noise.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import asdict, frozen

FOLDER = next((Path(__file__).parents[2] / "contrib/evals").glob("*-eval-everyday/src/*/tasks"))
LIMIT_S = 600
HELPERS = """
import json, pathlib, re, subprocess, sys

answer = sys.stdin.read()

def read(path):
    return pathlib.Path(path).read_text()

def write(path, text):
    pathlib.Path(path).write_text(text)

def command(*words):
    words = (sys.executable, *words[1:]) if words[0] == "python" else words
    return subprocess.run(words, capture_output=True, text=True, timeout=60)

def python(code):
    return command("python", "-B", "-c", code).stdout.strip()

def script(path):
    return command("python", "-B", path).stdout.strip()
"""


@frozen
class Task:
    """One request in one folder; *answer* and *solution* are what would solve it."""

    name: str
    kind: Literal["read", "run", "make", "edit"]
    half: Literal["tuned", "held-out"]
    prompt: str
    check: str
    files: Mapping[str, str]
    answer: str = ""
    solution: Mapping[str, str] = {}


@frozen
class Outcome:
    """What became of one task; *tokens* are those of all requests, read and written."""

    name: str
    kind: str
    half: str
    solved: bool
    turns: int
    tokens: int
    seconds: float
    stopped: str


def tasks() -> Iterator[Task]:
    """Yield every task, by name."""
    for path in sorted(FOLDER.glob("*.toml")):
        yield Task(name=path.stem, **tomllib.loads(path.read_text(encoding="utf-8")))


def lay_out(files: Mapping[str, str], folder: Path) -> None:
    """Write *files* into the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def is_solved(task: Task, folder: Path, answer: str) -> bool:
    """Run the task's check in the folder; a question must leave the files as they were."""
    if task.kind in ("read", "run") and not is_untouched(task, folder):
        return False
    check = subprocess.run(
        [sys.executable, "-I", "-c", HELPERS + task.check],
        cwd=folder,
        input=answer,
        capture_output=True,
        text=True,
        check=False,
    )
    return check.returncode == 0


def is_untouched(task: Task, folder: Path) -> bool:
    """Whether each file of the task still has its text."""
    paths = ((folder / name, text) for name, text in task.files.items())
    return all(path.is_file() and path.read_text(errors="replace") == text for path, text in paths)


def attempt(task: Task, program: str, model: str) -> Outcome:
    """Let nanocoder work on the task in a new folder."""
    with tempfile.TemporaryDirectory(prefix="everyday-") as scratch:
        folder = Path(scratch)
        lay_out(task.files, folder)
        started = time.monotonic()
        report = run(program, model, task.prompt, folder)
        seconds = time.monotonic() - started
        usage = report.get("usage", {})
        return Outcome(
            task.name,
            task.kind,
            task.half,
            is_solved(task, folder, report.get("text", "")),
            report.get("turns", 0),
            usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
            round(seconds, 1),
            report.get("stop_reason", ""),
        )


def run(program: str, model: str, prompt: str, folder: Path) -> dict[str, Any]:
    """Run nanocoder once; return its report, or why there is none as `stop_reason`."""
    command = [program, "run", "--mode", "auto", "--output", "json", "--model", model, prompt]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return {"stop_reason": f"killed after {LIMIT_S} s"}
    except ValueError:
        return {"stop_reason": f"no report: {done.stderr.strip()[-200:]}"}


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a line for each half and kind, and one for all."""
    for half in ("tuned", "held-out"):
        of_half = [outcome for outcome in outcomes if outcome.half == half]
        for kind in ("read", "run", "make", "edit"):
            yield counted(
                f"{half} {kind}", [outcome for outcome in of_half if outcome.kind == kind]
            )
        yield counted(half, of_half)
    yield counted("all", outcomes)


def counted(name: str, outcomes: Sequence[Outcome]) -> str:
    """Say how many are solved, tokens for each solved task, and seconds for each task."""
    solved = sum(outcome.solved for outcome in outcomes)
    tokens = sum(outcome.tokens for outcome in outcomes) // max(1, solved)
    seconds = sum(outcome.seconds for outcome in outcomes) / max(1, len(outcomes))
    return f"| {name} | {solved} of {len(outcomes)} | {tokens:,} | {seconds:.1f} |"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tasks to do (default: all)")
    parser.add_argument("--model", default="local/qwen2.5-coder-1.5b")
    parser.add_argument("--half", choices=("tuned", "held-out"))
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--json", type=Path, help="where the outcomes are written")
    options = parser.parse_args()
    chosen = [
        task
        for task in tasks()
        if task.half == (options.half or task.half) and task.name in (options.names or [task.name])
    ]
    outcomes = []
    for task in chosen:
        outcome = attempt(task, str(options.bin.absolute() / "nanocoder"), options.model)
        mark = "solved" if outcome.solved else "-"
        print(f"{task.name:22} {mark:7} {outcome.turns:3} turns {outcome.tokens:6} tokens", end=" ")
        print(f"{outcome.seconds:6.1f} s  {outcome.stopped}", flush=True)
        outcomes.append(outcome)
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    print("\n".join(summary(outcomes)))


if __name__ == "__main__":
    main()
