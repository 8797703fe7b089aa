"""The suite `humaneval`: 164 functions to complete in a file, judged by HumanEval's own tests."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

from nanocoder import Resource, hookimpl
from nanocoder_kit_batch.suites import SuiteTask

DATA: Final = Path(__file__).parent / "data" / "HumanEval.jsonl.gz"
FILE: Final = "solution.py"
PROMPT: Final = (
    "Complete the function {} in {}: its docstring says what it has to do, and its body is missing."
)
CHECK: Final = """
tests = {tests!r}
assert python(read({file!r}) + tests).endswith("all tests passed")
"""
TESTS: Final = "\n{}\ncheck({})\nprint('all tests passed')\n"
"""The last line is decisive: a solution that exits the program would exit with 0, too."""


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the suite to `nanocoder eval`."""
    return [Resource("suite-humaneval", _tasks)]


def _tasks(_info: Any, _settings: Any) -> list[SuiteTask]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [_task(json.loads(line)) for line in lines]


def _task(problem: dict[str, str]) -> SuiteTask:
    number = int(problem["task_id"].rpartition("/")[2])
    function = problem["entry_point"]
    tests = TESTS.format(problem["test"], function)
    return SuiteTask(
        name=f"{number:03}-{function}",
        prompt=PROMPT.format(function, FILE),
        check=CHECK.format(tests=tests, file=FILE),
        kind="edit",
        files={FILE: problem["prompt"]},
        solution={FILE: problem["prompt"] + problem["canonical_solution"]},
    )
