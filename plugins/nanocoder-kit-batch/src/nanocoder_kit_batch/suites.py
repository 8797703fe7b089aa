"""A suite of tasks for an evaluation: prompts, the files they begin with, and checks in Python.

A suite is a folder with one TOML file for each task, or a plugin's resource `suite-NAME` that
returns a list of `SuiteTask`.
"""

import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from nanocoder import UsageError, did_you_mean

from nanocoder_kit_batch.own_files import is_below, own_folder, write_own

RESOURCE: Final = "suite-"
UNTOUCHED: Final = ("read", "run")
"""Kinds of tasks that are questions: every file has to stay as it was."""
PREAMBLE: Final = """
import json, os, pathlib, re, subprocess, sys

answer = os.environ.get("NANOCODER_ANSWER", "")

def read(path):
    return pathlib.Path(path).read_text(errors="replace")

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
"""What each check may use; it also keeps its own changes out of the next task."""


@frozen
class SuiteTask:
    """One task: *files* by path, *check* in Python, which fails in the untouched folder.

    *kind* groups tasks in tables. *answer* and *solution* are what would pass the check.
    """

    name: str
    prompt: str
    check: str
    kind: str = ""
    files: Mapping[str, str] = field(factory=dict)
    half: str = ""
    answer: str = ""
    solution: Mapping[str, str] = field(factory=dict)

    def lay_out(self, folder: Path) -> None:
        """Write the files with which the task begins."""
        with own_folder(folder):
            pass
        for name, text in self.files.items():
            write_own(folder, name, [text.encode()])

    @property
    def command(self) -> str:
        """The check as a command for the shell."""
        unchanged = self.files if self.kind in UNTOUCHED else {}
        lines = [f"assert read({name!r}) == {text!r}" for name, text in unchanged.items()]
        code = "\n".join([PREAMBLE, *lines, self.check])
        return f"python3 -I -c {shlex.quote(code)}"


def read_folder(folder: Path) -> list[SuiteTask]:
    """Return the tasks of a folder, by name; raises UsageError for a file that is wrong."""
    return list(_tasks(folder))


def _tasks(folder: Path) -> Iterator[SuiteTask]:
    for path in sorted(folder.glob("*.toml")):
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            yield _task(path.stem, values)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"{path}: {error}") from error


def _task(name: str, values: Mapping[str, Any]) -> SuiteTask:
    keys = [attribute.name for attribute in SuiteTask.__attrs_attrs__ if attribute.name != "name"]
    for key in values:
        if key not in keys:
            raise ValueError(f"there is no key {key!r}{did_you_mean(key, keys)}")
    for key in ("prompt", "check"):
        if not isinstance(values.get(key), str) or not values[key].strip():
            raise ValueError(f"{key}: a text is needed")
    for key in ("files", "solution"):
        _check_files(key, values.get(key, {}))
    return SuiteTask(name, **values)


def _check_files(key: str, files: Any) -> None:
    if not isinstance(files, dict):
        raise TypeError(f"{key}: expected a table of paths and texts")
    for path, text in files.items():
        if not is_below(path):
            raise ValueError(f"{key}: {path!r} is not a path below the folder of the task")
        if not isinstance(text, str):
            raise TypeError(f"{key}: {path!r}: a text is needed")
