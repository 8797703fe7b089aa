"""The suite `bfcl`: 400 tasks with functions of their own, checked by the calls of these."""

import gzip
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import Resource, hookimpl
from nanocoder_kit_batch.suites import SuiteTask

from nanocoder_eval_bfcl import scoring

DATA: Final = Path(__file__).parent / "data" / "bfcl.jsonl.gz"
CHECK: Final = """
{scoring}
expected = json.loads({expected!r})
assert is_right(calls, expected), f"called {{calls}}, expected {{expected}}"
"""


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the suite to `nanocoder eval`."""
    return [Resource("suite-bfcl", lambda _info, _settings: [_task(row) for row in rows()])]


def rows() -> list[dict[str, Any]]:
    """Return the stored tasks: id, kind, question, functions, expected calls."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _task(row: Mapping[str, Any]) -> SuiteTask:
    expected = json.dumps(row["expected"])
    return SuiteTask(
        name=row["id"],
        prompt=row["question"],
        check=CHECK.format(scoring=inspect.getsource(scoring), expected=expected),
        kind=row["kind"],
        functions=row["functions"],
    )
