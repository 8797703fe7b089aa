"""Run git in an untrusted repository without starting a program that its settings name.

Hooks, the file system monitor, filters, external diffs, text conversions, pagers, editors and
protocols are disabled, and git reads no other repository.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from nanocoder import Cancel, ToolError

from nanocoder_kit_process import environment, find_program, without_workspace

QUIET: Final = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.pager": "cat",
    "core.editor": "false",
    "core.quotePath": "false",
    "core.alternateRefsCommand": "true",
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short",
    "gpg.program": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
OPTIONS: Final = tuple(word for key, value in QUIET.items() for word in ("-c", f"{key}={value}"))
VARIABLES: Final = {
    # The repository may allow a protocol by name, which overrides `protocol.allow`.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
NO_DRIVERS: Final = ("--no-ext-diff", "--no-textconv")
NOT_INTO_OTHERS: Final = "--ignore-submodules=all"
_OF_COMMAND: Final = {
    **dict.fromkeys(("diff", "show", "log"), (*NO_DRIVERS, NOT_INTO_OTHERS)),
    "blame": ("--no-textconv",),
    "grep": ("--no-textconv", "--no-recurse-submodules"),
    "status": (NOT_INTO_OTHERS,),
}
_OF_FILTERS: Final = (".clean", ".smudge", ".process", ".required")
LIMIT_S: Final = 60.0
POLL_S: Final = 0.05
GRACE_S: Final = 5.0
"""The time in which a git that is ended may remove its locks."""


def git(
    folder: Path,
    *words: str,
    workspace: Path | None = None,
    cancel: Cancel | None = None,
    fine: tuple[int, ...] = (0,),
    variables: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
    feed: bytes | None = None,
) -> bytes:
    """Return the output of git in *folder*; start no program of *workspace*, by default *folder*.

    *words* begin with the command. Commands that only read write no index, except `diff`, which
    always refreshes it: use that only if the index is ours. *fine* are the exit codes that are no
    failure. *limit_s* is the timeout in seconds, and *feed* the standard input.
    Raises: ToolError (git_failed, git_missing), Cancelled.
    """
    workspace = workspace or folder
    child = {**environment(os.environ, workspace=workspace), **VARIABLES, **(variables or {})}
    child["PATH"] = without_workspace(child["PATH"], workspace)
    program = find_program("git", child["PATH"], workspace)
    if not program:
        raise ToolError("git is not installed, or not on PATH", error_class="git_missing")
    command = [program, "--no-pager", "--literal-pathspecs", *OPTIONS]
    listed = _output(
        [*command, "config", "--list", "--name-only", "-z"], folder, child, cancel, limit_s=limit_s
    )
    child |= _without_filters(listed.split(b"\0"))
    hardened = [words[0], *_OF_COMMAND.get(words[0], ()), *words[1:]]
    return _output([*command, *hardened], folder, child, cancel, fine, limit_s, feed)


def _without_filters(keys: list[bytes]) -> dict[str, str]:
    """Return the variables that empty the filters among *keys*, whatever their names are."""
    names = [os.fsdecode(key) for key in keys if key.startswith(b"filter.")]
    names = [name for name in names if name.endswith(_OF_FILTERS)]
    settings = {name: "false" if name.endswith(".required") else "" for name in names}
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _output(
    argv: list[str],
    folder: Path,
    variables: Mapping[str, str],
    cancel: Cancel | None,
    fine: tuple[int, ...] = (0,),
    limit_s: float = LIMIT_S,
    feed: bytes | None = None,
) -> bytes:
    command = argv[len(OPTIONS) + 3]
    with contextlib.ExitStack() as opened:
        source: IO[bytes] | int = subprocess.DEVNULL
        if feed is not None:  # no pipe: what is polled takes no more input after the first time
            source = opened.enter_context(tempfile.TemporaryFile())
            source.write(feed)
            source.seek(0)
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=variables,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        output, errors = _communicate(process, command, cancel, limit_s)
    if process.returncode not in fine:
        message = errors.decode("utf-8", "replace").strip() or f"exit code {process.returncode}"
        raise ToolError(f"git {command} failed: {message}", error_class="git_failed")
    return output


def _communicate(
    process: "subprocess.Popen[bytes]", command: str, cancel: Cancel | None, limit_s: float
) -> tuple[bytes, bytes]:
    waited_s = 0.0
    while True:
        try:
            # Git is polled, so that a cancel ends it at once.
            return process.communicate(timeout=POLL_S)
        except subprocess.TimeoutExpired:
            waited_s += POLL_S
        is_late = waited_s >= limit_s
        if is_late or (cancel is not None and cancel.is_set()):
            _end(process)
            if cancel is not None:
                cancel.check()
            raise ToolError(
                f"git {command} took longer than {limit_s:g} s", error_class="git_failed"
            )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End git and its children, by a signal at which git removes its locks, if that is enough."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_S)
            return
