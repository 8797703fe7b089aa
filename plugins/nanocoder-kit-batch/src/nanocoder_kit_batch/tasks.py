"""A file of tasks, one JSON object a line, checked as a whole before anything starts."""

import hashlib
import json
import math
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from attrs import asdict, evolve, field, frozen
from nanocoder import (
    BadArguments,
    Mode,
    ToolError,
    UsageError,
    counted,
    did_you_mean,
    one_line,
    parse_json,
)
from nanocoder_kit_process.git import git

from nanocoder_kit_batch.functions import check_functions
from nanocoder_kit_batch.workspaces import top_of_repository

MAX_ID_CHARS: Final = 200
MAX_LINE_BYTES: Final = 4_000_000
SHOWN_PROBLEMS: Final = 20
KEY_CHARS: Final = 32
MODES: Final = tuple(str(mode) for mode in Mode)
BUDGET: Final = {
    "max_cost": "max_cost_usd",
    "max_tokens": "max_tokens",
    "max_turns": "max_turns",
    "max_seconds": "max_seconds",
}
"""The limits of one task, as the command line names them, and the core's setting for each."""
MOST: Final = {"max_seconds": threading.TIMEOUT_MAX / 2}
"""A timer takes no more."""
COUNTS: Final = ("max_tokens", "max_turns")


@frozen(slots=False)
class Task:
    """One task. *cwd* is an absolute path, *revision* a commit, *budget* has the core's settings.

    With *functions* its session has these and no tools.

    Results are stored by key, so tasks that differ in anything have different keys.
    """

    id: str
    prompt: str
    cwd: str = ""
    revision: str = ""
    set: str = ""
    model: str = ""
    mode: str = ""
    budget: Mapping[str, float] = field(factory=dict)
    check: str = ""
    seed: int | None = None
    functions: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def key(self) -> str:
        """The digest of all fields of the task."""
        fields = {
            name: value for name, value in asdict(self).items() if name != "functions" or value
        }
        text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_CHARS]

    def job(self) -> dict[str, Any]:
        """Return the task ready for JSON, with its key."""
        return {**asdict(self), "key": self.key}


@frozen
class Defaults:
    """Default values for tasks, and the available names."""

    cwd: Path
    set: str = ""
    model: str = ""
    mode: str = ""
    sets: Collection[str] = ()
    providers: Collection[str] = ()


def read_tasks(path: str, defaults: Defaults) -> list[Task]:
    """Return the tasks of the file *path*, "-" for standard input.

    Raises: UsageError with a line for each problem, of all lines.
    """
    data = _read(path)
    name = "standard input" if path == "-" else path
    folder = Path.cwd() if path == "-" else Path(path).resolve().parent
    tasks: dict[str, tuple[int, Task]] = {}
    problems: list[str] = []
    reader = _Reader(folder, defaults)
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            task = reader.task(line)
        except UsageError as error:
            problems.append(f"{name}:{number}: {error}")
            continue
        if task.id in tasks:
            earlier = tasks[task.id][0]
            problems.append(
                f"{name}:{number}: the id {task.id!r} is already that of line {earlier}"
            )
        tasks.setdefault(task.id, (number, task))
    if problems:
        first = problems[:SHOWN_PROBLEMS]
        more = [f"and {len(problems) - len(first):,} more"] if len(problems) > len(first) else []
        count = counted(len(problems), "problem")
        raise UsageError("\n  ".join([f"{count} in the tasks; nothing was started", *first, *more]))
    if not tasks:
        raise UsageError(f'{name} has no task; a line is {{"id": "first", "prompt": "what to do"}}')
    return [task for _, task in tasks.values()]


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"the tasks {path!r} cannot be read: {error.strerror}") from error


class _Reader:
    """Parses lines; each commit and directory is resolved once."""

    def __init__(self, folder: Path, defaults: Defaults) -> None:
        self._folder = folder
        self._defaults = defaults
        self._commits: dict[tuple[str, str], str] = {}

    def task(self, line: bytes) -> Task:
        """Return the task of one line; raises UsageError."""
        values = _object(line)
        _check(values)
        budget = _budget(values.get("budget"))
        texts = {name: str(values.get(name) or "") for name in ("prompt", "check", "id")}
        functions = check_functions(values.get("functions") or [])
        task = Task(**texts, budget=budget, seed=values.get("seed"), functions=functions)
        task = evolve(
            task,
            model=self._model(values.get("model") or self._defaults.model),
            mode=_mode(values.get("mode") or self._defaults.mode),
            set=self._set(values.get("set") or self._defaults.set),
        )
        return self._placed(task, values.get("cwd"), values.get("revision"))

    def _placed(self, task: Task, cwd: str | None, revision: str | None) -> Task:
        folder = self._folder / cwd if cwd else self._defaults.cwd
        if not _is_folder(folder):
            raise UsageError(f"cwd: there is no directory {str(folder)!r:.200}")
        commit = self._commit(folder.resolve(), revision) if revision else ""
        return evolve(task, cwd=str(folder.resolve()), revision=commit)

    def _commit(self, folder: Path, revision: str) -> str:
        key = str(folder), revision
        if key not in self._commits:
            try:
                words = ("rev-parse", "--verify", "--quiet", "--end-of-options")
                top = top_of_repository(folder)
                output = git(top, *words, f"{revision}^{{commit}}")
            except (ToolError, ValueError) as error:  # ValueError: a name with a NUL
                problem = f"revision: {folder} has no commit {revision!r}"
                raise UsageError(f"{problem} ({one_line(str(error), 400)})") from error
            self._commits[key] = output.decode().strip()
        return self._commits[key]

    def _model(self, model: str) -> str:
        provider, slash, name = model.partition("/")
        if not model or (slash and name and provider in self._defaults.providers):
            return model
        if not (slash and name):
            raise UsageError(f"model: {model!r} is not provider/model")
        hint = did_you_mean(provider, self._defaults.providers, ".")
        have = ", ".join(sorted(self._defaults.providers)) or "none"
        raise UsageError(f"model: there is no provider {provider!r}{hint} Installed: {have}")

    def _set(self, name: str) -> str:
        if name and name not in self._defaults.sets:
            hint = did_you_mean(name, self._defaults.sets, ".")
            have = ", ".join(sorted(self._defaults.sets)) or "none"
            raise UsageError(f"set: there is no set {name!r}{hint} Installed: {have}")
        return name


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise UsageError(f"the line has more than {MAX_LINE_BYTES:,} bytes")
    try:
        values = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError("the line is not UTF-8") from error
    except BadArguments as error:
        raise UsageError(f"not JSON: {one_line(str(error), 120)}") from error
    if not isinstance(values, dict):
        raise UsageError(f"a task is a JSON object, not {type(values).__name__}")
    return values


def _check(values: Mapping[str, Any]) -> None:
    """Raise UsageError for an unknown key, or a value of the wrong type."""
    for name in values:
        if name not in EXPECTED:
            hint = did_you_mean(name, EXPECTED, ".")
            raise UsageError(f"there is no key {name!r}{hint} Keys: {', '.join(EXPECTED)}")
    for name, expected in EXPECTED.items():
        value = values.get(name)
        if name in ("id", "prompt") and name not in values:
            raise UsageError(f"{name} is missing")
        if name in ("id", "prompt") and (not isinstance(value, str) or not value.strip()):
            raise UsageError(f"{name}: a text is needed")
        is_wrong = not isinstance(value, expected) or isinstance(value, bool)
        if value is not None and is_wrong:
            raise UsageError(f"{name}: {value!r:.60} is not {NAMES_OF_TYPES[expected]}")
    identifier = values["id"]
    if len(identifier) > MAX_ID_CHARS or not identifier.isprintable():
        raise UsageError(f"id: at most {MAX_ID_CHARS} characters that can be printed, please")


EXPECTED: Final[dict[str, Any]] = {
    **dict.fromkeys(("id", "prompt", "cwd", "revision", "set", "model", "mode", "check"), str),
    "budget": (int, float, dict),
    "seed": int,
    "functions": list,
}
NAMES_OF_TYPES: Final[dict[Any, str]] = {
    str: "a text",
    int: "a whole number",
    list: "a list",
    (int, float, dict): "a number of dollars, or an object of limits",
}


def _mode(mode: str) -> str:
    if mode and mode not in MODES:
        hint = did_you_mean(mode, MODES, ".")
        raise UsageError(f"mode: there is no mode {mode!r}{hint} Modes: {', '.join(MODES)}")
    return mode


def _budget(value: Any) -> dict[str, float]:
    """Return the core's settings for the limits of a task; raises UsageError."""
    limits = value if isinstance(value, dict) else {"max_cost": value}
    return dict(_limits(limits))


def _limits(limits: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, limit in limits.items():
        if name not in BUDGET:
            hint = did_you_mean(name, BUDGET, ".")
            raise UsageError(f"budget: there is no {name!r}{hint} Limits: {', '.join(BUDGET)}")
        if limit is None:
            continue
        kind: Any = int if name in COUNTS else (int, float)
        if not isinstance(limit, kind) or isinstance(limit, bool) or not 0 < limit < math.inf:
            what = "a whole number" if name in COUNTS else "a number"
            raise UsageError(f"budget: {name} is {what} above 0, not {limit!r:.40}")
        if limit > MOST.get(name, math.inf):
            raise UsageError(f"budget: {name} is at most {MOST[name]:.0f}, not {limit!r:.40}")
        yield BUDGET[name], limit
