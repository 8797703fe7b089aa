"""Make `tasks.json` anew from the tasks of AgentBench-OS that the package `inspect_evals` carries.

    pip download --no-deps inspect_evals==0.26.0 && python -m zipfile -e inspect_evals-*.whl FOLDER
    python contrib/evals/nanocoder-eval-shell/tests/pack.py FOLDER/inspect_evals/agent_bench/data

Only who changes the suite needs it. A task's own script sets up a folder here once, and what it
left becomes the files of the task; its example answers in that folder. So a run of the suite runs
no script of theirs, and the answer is the same on every machine.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder_eval_shell import DATA
from nanocoder_kit_batch.suites import SuiteTask

LEFT_OUT: Final = {
    "files that only the repository of AgentBench has": (*range(7), 9, 10, 11),
    "the machine": (7, 8, 12, 13, 15, 16, 17, 19, 25, 37, 38, 41, 74, 96, 99, 104, 111, 112),
    "a user with all rights": (28, 29, 30, 31, 33, 34, 35),
    "the file system, the time, or random data": (23, 27, 57, 59, 62, 71, 79, 113, 120, 122, 124),
    "a question with two answers": (45, 49, 61, 66, 68, 80, 93, 102),
    "files of megabytes": (75,),
}
"""What a task needs that a folder of text files does not have, and the tasks that need it."""
COMMANDS: Final = {18: "checking/0.sh", 20: "checking/2.sh"}
"""Tasks to write a command; the script runs it."""
FOLDERS: Final = {89, 92}
"""Tasks to make folders and to count them."""
MODES: Final = {48}
"""Tasks about permissions; all other files have the usual ones."""
HOMES: Final = re.compile(r"/home/(agent|user|student)|/tmp/my-task|/tmp(?=/experiment)|~")
PLACE: Final = re.compile(rf"({HOMES.pattern})/")
NUMBER: Final = re.compile(r"-?\d+")
PLACE_TEXT: Final = "\n\nThe working directory is the home directory meant here."
ENDING: Final = (
    " Everything in it has been set up. End your answer with a line that has the result and "
    "nothing else."
)
ANSWER: Final = """
numbers = re.findall(r"-?\\d+", answer.strip().splitlines()[-1].replace(",", ""))
assert numbers == {numbers!r}
"""
COMMAND: Final = """
code = 'PATH="$PWD:$PATH"\\n' + {script!r}
assert command("bash", "-c", code).returncode == 0
"""
PERMISSIONS: Final = """
def others(*words):
    return command("find", "videos", *words).stdout
assert pathlib.Path("videos/new/a").is_file()
assert not others("-type", "f", "!", "-perm", "660") + others("-type", "d", "!", "-perm", "750")
"""
PERMISSIONS_TASK: Final = 32
MOST_CASES: Final = 8
INSTALLED: Final = re.compile(r"mv calc /usr/local/bin/\n?|/usr/local/bin/")
"""Examples put their commands there; ours leave them in the folder."""


def main(folder: Path) -> None:
    """Write the tasks from the data folder of AgentBench in `inspect_evals`."""
    text = (folder / "agent_bench_os_test.json").read_text(encoding="utf-8")
    by_number = {task["id"]: task for task in json.loads(text)}
    absent = {number for numbers in LEFT_OUT.values() for number in numbers}
    if unknown := absent - set(by_number):
        raise SystemExit(f"there are no tasks {sorted(unknown)}")
    numbers = sorted(set(by_number) - absent)
    rows = [row_of(by_number[number], folder / "scripts") for number in numbers]
    DATA.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(rows)} tasks of {len(by_number)}\n")


def row_of(task: Mapping[str, Any], scripts: Path) -> dict[str, Any]:
    """Return a task as a row of the file; raises SystemExit if its answer is not stable."""
    number = task["id"]
    example = INSTALLED.sub("", commands_of(task["evaluation"].get("example"), scripts))
    row: dict[str, Any] = {
        "name": f"{number:03}-{slug(task['description'])}",
        "prompt": prompt_of(task["description"]),
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "agent").resolve()
        folder.mkdir()
        run(commands_of(task.get("create", {}).get("init"), scripts), folder)
        row.update(begin(folder, with_modes=number in MODES))
        result = run(example, folder)
    row["example"] = HOMES.sub("$PWD", example)
    row.update(judged(number, result, scripts))
    if "answer" in row:
        row["prompt"] += ENDING
    check_stable(row, result)
    return row


def prompt_of(description: str) -> str:
    """Return a description with paths below the folder of the task."""
    text = description.strip().replace("the /home/agent directory", "/home/agent")
    return HOMES.sub("the home directory", PLACE.sub("", text)) + PLACE_TEXT


def slug(text: str) -> str:
    """Return a few words of a description for a name."""
    words = re.findall(r"[a-z]+", text.lower())
    long = [word for word in words if len(word) > len("this") and word not in COMMON]
    return "-".join(list(dict.fromkeys(long))[:3])


COMMON: Final = frozenset(
    [
        "student",
        "students",
        "given",
        "total",
        "number",
        "directory",
        "system",
        "linux",
        "operating",
        "ubuntu",
        "using",
        "which",
        "problem",
        "required",
        "calculate",
        "determine",
        "count",
        "requested",
        "called",
        "named",
        "files",
        "tasked",
        "provided",
        "containing",
        "within",
        "create",
        "would",
        "there",
        "their",
        "specific",
        "certain",
        "about",
    ]
)


def commands_of(script: Any, scripts: Path) -> str:
    """Return a script of the data as text, whichever form it has there."""
    if isinstance(script, Mapping):
        return str(script["code"]) if "code" in script else (scripts / script["file"]).read_text()
    return str(script or "")


def run(script: str, folder: Path) -> str:
    """Run a script in *folder*, which is the home directory, too; return what it prints."""
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    code = HOMES.sub(str(folder), script)
    words = ["bash", "-c", code]
    process = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return process.stdout.strip()


def begin(folder: Path, *, with_modes: bool) -> dict[str, Any]:
    """Return the files, empty folders and permissions in *folder*."""
    paths = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))}
    files = {name: path for name, path in paths.items() if path.is_file()}
    empty = [name for name, path in paths.items() if path.is_dir() and not any(path.iterdir())]
    modes = {name: path.stat().st_mode & 0o777 for name, path in files.items()}
    return {
        "files": {name: path.read_text() for name, path in files.items()},
        "folders": empty,
        "modes": modes if with_modes else {},
    }


def judged(number: int, result: str, scripts: Path) -> dict[str, str]:
    """Return the kind, the check and the answer of a task."""
    if number == PERMISSIONS_TASK:
        return {"kind": "change", "check": PERMISSIONS}
    if number in COMMANDS:
        script = shortened((scripts / COMMANDS[number]).read_text(encoding="utf-8"))
        return {"kind": "command", "check": COMMAND.format(script=script)}
    numbers = NUMBER.findall(result)
    kind = "folders" if number in FOLDERS else "run"
    return {"kind": kind, "check": ANSWER.format(numbers=numbers), "answer": result}


def shortened(script: str) -> str:
    """Return a check with its first cases only: each of them starts three interpreters."""
    cases = 0
    lines = []
    for line in script.splitlines(keepends=True):
        cases += line.startswith("[ `check")
        if cases <= MOST_CASES or not line.startswith("[ `check"):
            lines.append(line)
    return "".join(lines)


def check_stable(row: Mapping[str, Any], result: str) -> None:
    """Answer the task once more where it is laid out as for a run; raises SystemExit."""
    fields = {key: value for key, value in row.items() if key != "example"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "other").resolve()
        SuiteTask(**fields).lay_out(folder)
        again = run(row["example"], folder)
    if again != result or (row.get("answer") is not None and not NUMBER.search(result)):
        raise SystemExit(f"{row['name']}: {result!r}, then {again!r}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
