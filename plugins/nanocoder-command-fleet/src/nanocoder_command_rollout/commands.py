"""The steps of each command: read the state, take one step, write it atomically."""

import getpass
import hashlib
import json
import os
import platform
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import asdict
from nanocoder import Host, UsageError
from nanocoder_files import holding, replace_file

from nanocoder_command_rollout.rollout import Rollout, new_rollout, read_regular, read_rollout

STATE: Final = "rollout.json"
EVALUATION: Final = "eval.json"
Step = Callable[[Rollout], Rollout]


def start(arguments: Namespace, host: Host) -> int:
    """Begin a rollout; raises UsageError while another one is underway."""
    if not arguments.stable:
        raise UsageError("name the set of everybody else: --from SET")
    rollout = new_rollout(arguments.set, arguments.stable, arguments.stages)
    path = _path(arguments, host)
    with _locked(path):
        current = read_rollout(path)
        if current is not None and current.state == "underway":
            raise UsageError(
                f"{path}: {current.candidate!r} is underway: promote it or go back first"
            )
        _write(path, rollout)
    host.print_line(f"{rollout.candidate}: {rollout.share} % instead of {rollout.stable}")
    return 0


def choose(arguments: Namespace, host: Host) -> int:
    """Print the set of one person or machine, and nothing else."""
    key = arguments.key or f"{getpass.getuser()}@{platform.node()}"
    host.print_line(_current(_path(arguments, host)).set_for(key))
    return 0


def gate(arguments: Namespace, host: Host) -> int:
    """Judge by an evaluation; returns 1 when it failed."""
    data, digest = _evaluation(Path(host.cwd, arguments.results))
    problems = [str(problem) for problem in data["unmet"]]

    def step(rollout: Rollout) -> Rollout:
        if data["sets"] not in {"", rollout.candidate}:
            raise UsageError(
                f"the results are of the set {data['sets']!r}, not of {rollout.candidate!r}"
            )
        return rollout.gated(digest, problems)

    rollout = _step(arguments, host, step)
    for problem in problems:
        host.say(f"not met: {problem}")
    if rollout.state == "withdrawn":
        host.say(f"{rollout.candidate} is withdrawn: everybody has {rollout.stable} again")
    elif problems:
        host.say("the gate failed; if the next evaluation fails, too, the set is withdrawn")
    else:
        host.print_line(f"{rollout.candidate}: gate passed at {rollout.share} %")
    return 1 if problems else 0


def promote(arguments: Namespace, host: Host) -> int:
    """Go to the next stage."""
    rollout = _step(arguments, host, lambda current: current.promoted(arguments.reason))
    host.print_line(f"{rollout.candidate}: {rollout.share} %, {rollout.state}")
    return 0


def back(arguments: Namespace, host: Host) -> int:
    """Withdraw the candidate."""
    rollout = _step(arguments, host, lambda current: current.withdrawn(arguments.reason))
    host.print_line(f"{rollout.candidate} is withdrawn: everybody has {rollout.stable} again")
    return 0


def show(arguments: Namespace, host: Host) -> int:
    """Print the state and its history."""
    rollout = _current(_path(arguments, host))
    if arguments.output == "json":
        host.print_json({**asdict(rollout), "share": rollout.share})
        return 0
    host.print_line(
        f"{rollout.candidate} instead of {rollout.stable}: {rollout.share} %, {rollout.state}"
    )
    rows = [[note[name] for name in ("at", "event", "share", "reason")] for note in rollout.history]
    host.print_table(("at", "event", "share", "reason"), rows)
    return 0


ACTIONS: Final[Mapping[str, Callable[[Namespace, Host], int]]] = {
    "start": start,
    "set": choose,
    "gate": gate,
    "promote": promote,
    "back": back,
    "show": show,
}


def _step(arguments: Namespace, host: Host, step: Step) -> Rollout:
    path = _path(arguments, host)
    _current(path)  # without a rollout no lock file is made
    with _locked(path):
        rollout = step(_current(path))
        _write(path, rollout)
    return rollout


def _current(path: Path) -> Rollout:
    rollout = read_rollout(path)
    if rollout is None:
        raise UsageError(f"there is no rollout in {path}: begin with `nanocoder rollout start`")
    return rollout


def _evaluation(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the result of an evaluation, and its digest; raises UsageError."""
    path = folder / EVALUATION
    try:
        text = read_regular(path)
        data = json.loads(text)
    except FileNotFoundError:
        raise UsageError(
            f"there is no {path}:"
            f" `nanocoder eval SUITE --results {folder} --criteria FILE` makes it"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not the outcome of `nanocoder eval`: {error}") from error
    types = {"criteria": dict, "unmet": list, "sets": str}
    for name, kind in types.items():
        if not isinstance(data, dict) or not isinstance(data.get(name), kind):
            problem = f"{name!r} is missing or of the wrong type"
            raise UsageError(f"{path} is not the outcome of `nanocoder eval`: {problem}")
    if not data["criteria"]:
        raise UsageError(f"{folder}: evaluate with --criteria FILE, or every set would pass")
    return data, hashlib.sha256(text).hexdigest()


def _path(arguments: Namespace, host: Host) -> Path:
    return Path(host.cwd, arguments.file or STATE)


def _locked(path: Path) -> Any:
    return holding(path.with_name(f".{path.name}.lock"))


def _write(path: Path, rollout: Rollout) -> None:
    is_new = not path.exists()
    try:
        replace_file(path, rollout.document())
        if is_new:  # a team reads it: as open as any file that its writer makes
            os.umask(mask := os.umask(0o077))
            path.chmod(0o666 & ~mask)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
