"""A suite of tasks for an evaluation: prompts, the files they begin with, and checks in Python.

A suite is a folder with one TOML file for each task, or a plugin's resource `suite-NAME` that
returns a list of `SuiteTask`.
"""

import hashlib
import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from nanocoder import ProtectionKind, UsageError, did_you_mean
from nanocoder_files import protection_of

from nanocoder_kit_batch.functions import check_functions
from nanocoder_kit_batch.own_files import is_below, own_folder, set_mode, write_own

RESOURCE: Final = "suite-"
DIGEST_CHARS: Final = 16
UNTOUCHED: Final = ("read", "run")
"""Kinds of tasks that are questions: every file has to stay as it was."""
REFUSED: Final = (ProtectionKind.GIT, ProtectionKind.REPOSITORY, ProtectionKind.NANOCODER)
"""Kinds of names that files of a suite may not have: they would be settings for the task."""
READABLE: Final = 0o400
MOST_MODE: Final = 0o777
PREAMBLE: Final = """
import json, os, pathlib, re, subprocess, sys

answer = os.environ.get("NANOCODER_ANSWER", "")
calls = json.loads(os.environ.get("NANOCODER_CALLS") or "[]")

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
"""Functions for checks; the checks' own changes do not reach the next task."""


@frozen
class SuiteTask:
    """One task: *files* by path, *check* in Python, which fails in the untouched folder.

    *kind* groups tasks in tables. *folders* are there besides those of files; *modes* are
    permissions by path, else a file has 0600. *answer* and *solution* would pass the check.
    *functions* (name, description, parameters) replace the tools; the check reads their `calls`.
    """

    name: str
    prompt: str
    check: str
    kind: str = ""
    files: Mapping[str, str] = field(factory=dict)
    half: str = ""
    answer: str = ""
    solution: Mapping[str, str] = field(factory=dict)
    folders: Sequence[str] = ()
    modes: Mapping[str, int] = field(factory=dict)
    functions: Sequence[Mapping[str, Any]] = ()

    def lay_out(self, folder: Path) -> None:
        """Make the files and folders with which the task begins."""
        for path in ("", *self.folders):
            with own_folder(folder, filter(None, path.split("/"))):
                pass
        for name, text in self.files.items():
            write_own(folder, name, [text.encode()])
        for name, mode in self.modes.items():
            set_mode(folder, name, mode)

    @property
    def digest(self) -> str:
        """A digest of the task's initial files: with other files it is another task."""
        text = json.dumps(dict(self.files), sort_keys=True)
        if self.folders or self.modes:
            text += json.dumps([*self.folders, dict(self.modes)], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]

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
        if not path.is_file():  # a named pipe would block
            raise UsageError(f"{path}: it is no file")
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            yield _task(path.stem, values)
        except RecursionError as error:
            raise UsageError(f"{path}: it is nested too deeply") from error
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
    for key in ("kind", "half", "answer"):
        if not isinstance(values.get(key, ""), str):
            raise TypeError(f"{key}: expected a text")
    for key in ("files", "solution"):
        _check_files(key, values.get(key, {}))
    _check_folders(values.get("folders", []))
    _check_modes(values.get("modes", {}), values.get("files", {}))
    check_functions(values.get("functions", []))
    return SuiteTask(name, **values)


def _check_files(key: str, files: Any) -> None:
    if not isinstance(files, dict):
        raise TypeError(f"{key}: expected a table of paths and texts")
    for path, text in files.items():
        if not is_below(path):
            raise ValueError(f"{key}: {path!r} is not a path below the folder of the task")
        _refuse_protected(key, path)
        if not isinstance(text, str):
            raise TypeError(f"{key}: {path!r}: a text is needed")


def _refuse_protected(key: str, path: str) -> None:
    protection = protection_of(path)
    if protection is not None and protection.kind in REFUSED:
        raise ValueError(f"{key}: {path!r} is protected: {protection.reason}")


def _check_folders(folders: Any) -> None:
    if not isinstance(folders, list):
        raise TypeError("folders: expected a list of paths")
    for path in folders:
        if not isinstance(path, str) or not is_below(path):
            raise ValueError(f"folders: {path!r} is not a path below the folder of the task")
        _refuse_protected("folders", path)


def _check_modes(modes: Any, files: Mapping[str, str]) -> None:
    if not isinstance(modes, dict):
        raise TypeError("modes: expected a table of paths and permissions")
    for path, mode in modes.items():
        if path not in files:
            raise ValueError(f"modes: {path!r} is none of the files")
        if type(mode) is not int or not READABLE <= mode <= MOST_MODE:
            raise ValueError(f"modes: {path!r}: permissions such as 0o644 are needed")
