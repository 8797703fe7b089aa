"""Marks and failure messages that the tests of the contract suite share."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from nanocoder_testing.subject import Subject

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
SAMPLES = {
    "hello.py": 'print("hello")\n',
    "README.md": "# Sample\n\nA workspace for examples.\n",
    "src/app.py": "def main():\n    return 0\n",
    "old.txt": "old\n",
}
"""The files of the workspace for examples."""

Test = TypeVar("Test", bound=Callable[..., Any])


def for_each_of(part: str) -> Callable[[Test], Test]:
    """Run a test once for each of the plugin's tools, providers …; skip it without one."""

    def mark(test: Test) -> Test:
        test.contract_part = part  # type: ignore[attr-defined]
        return test

    return mark


def needs(condition: Callable[[Subject, Any], bool]) -> Callable[[Test], Test]:
    """Run a test only for plugins that fulfil *condition*."""

    def mark(test: Test) -> Test:
        test.contract_needs = condition  # type: ignore[attr-defined]
        return test

    return mark


def fail_for(problems: Iterable[str]) -> None:
    """Fail with all problems at once; each message says what to do."""
    listed = list(problems)
    if listed:
        pytest.fail("\n".join(listed), pytrace=False)


@pytest.fixture
def contract_workspace(tmp_path: Path) -> Path:
    """Return a folder with the files that examples may use: those of `SAMPLES`."""
    folder = tmp_path / "workspace"
    for name, text in SAMPLES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder.resolve()
