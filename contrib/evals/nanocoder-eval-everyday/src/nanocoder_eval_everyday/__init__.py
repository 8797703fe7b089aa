"""The suite `everyday`: forty tasks to read, run, make and edit files in small folders."""

from pathlib import Path
from typing import Any

from nanocoder import Resource, hookimpl
from nanocoder_kit_batch.suites import SuiteTask, read_folder


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the suite to `nanocoder eval`."""
    return [Resource("suite-everyday", _tasks)]


def _tasks(_info: Any, _settings: Any) -> list[SuiteTask]:
    return read_folder(Path(__file__).with_name("tasks"))
