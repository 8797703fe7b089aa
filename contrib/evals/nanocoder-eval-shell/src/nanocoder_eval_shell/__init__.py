"""The suite `shell`: tasks of AgentBench-OS that need only a folder, not a machine of their own."""

import json
from pathlib import Path
from typing import Any, Final

from nanocoder import Resource, hookimpl
from nanocoder_kit_batch.suites import SuiteTask

DATA: Final = Path(__file__).parent / "data" / "tasks.json"


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the suite to `nanocoder eval`."""
    return [Resource("suite-shell", _tasks)]


def _tasks(_info: Any, _settings: Any) -> list[SuiteTask]:
    return [_task(**row) for row in json.loads(DATA.read_text(encoding="utf-8"))]


def _task(example: str, **row: Any) -> SuiteTask:
    del example  # the commands that solve it; tests run them
    return SuiteTask(**row)
