"""Run git in a repository that strangers may have made: start no program that its settings name.

Hooks, the file system monitor, external diffs, text conversions and protocols are switched off; no
command is used that checks out or adds files, so that no filter runs.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from nanocoder import Cancel, ToolError
from nanocoder_kit_process import environment, find_program, without_workspace

QUIET = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.quotePath": "false",
    "credential.helper": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
OPTIONS = tuple(word for key, value in QUIET.items() for word in ("-c", f"{key}={value}"))
VARIABLES = {
    # The repository may allow a protocol by name, which overrides `protocol.allow`.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
LIMIT_S = 60.0
POLL_S = 0.05


def git(
    folder: Path,
    *words: str,
    workspace: Path | None = None,
    cancel: Cancel | None = None,
    fine: tuple[int, ...] = (0,),
    variables: Mapping[str, str] | None = None,
) -> bytes:
    """Return the output of git in *folder*; start no program of *workspace*, by default *folder*.

    Raises: ToolError (git_failed, git_missing), Cancelled.
    """
    workspace = workspace or folder
    child = {**environment(os.environ, workspace=workspace), **VARIABLES, **(variables or {})}
    child["PATH"] = without_workspace(child["PATH"], workspace)
    program = find_program("git", child["PATH"], workspace)
    if not program:
        raise ToolError("git is not installed, or not on PATH", error_class="git_missing")
    command = [program, "--no-pager", "--literal-pathspecs", *OPTIONS, *words]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=child,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    output, errors = _communicate(process, words[0], cancel)
    if process.returncode not in fine:
        message = errors.decode("utf-8", "replace").strip() or f"exit code {process.returncode}"
        raise ToolError(f"git {words[0]} failed: {message}", error_class="git_failed")
    return output


def _communicate(
    process: "subprocess.Popen[bytes]", command: str, cancel: Cancel | None
) -> tuple[bytes, bytes]:
    waited_s = 0.0
    while True:
        try:
            # Git is polled, so that a cancel ends it at once.
            return process.communicate(timeout=POLL_S)
        except subprocess.TimeoutExpired:
            waited_s += POLL_S
        is_late = waited_s >= LIMIT_S
        if is_late or (cancel is not None and cancel.is_set()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if cancel is not None:
                cancel.check()
            raise ToolError(
                f"git {command} took longer than {LIMIT_S:g} s", error_class="git_failed"
            )


def find_top(folder: Path) -> Path:
    """Return the top of the repository that *folder* is in.

    Raises: ToolError (no_repository) also when its settings name another work tree.
    """
    top = next(
        (
            folder_above
            for folder_above in (folder, *folder.parents)
            if (folder_above / ".git").exists()
        ),
        None,
    )
    if top is None:
        raise ToolError(
            f"{folder} is in no git repository, so there can be no worktree;"
            " run `git init` and commit, or leave isolation out",
            error_class="no_repository",
        )
    reported = git(top, "rev-parse", "--show-toplevel").removesuffix(b"\n")
    if os.path.realpath(os.fsdecode(reported)) != os.path.realpath(top):
        raise ToolError(
            f"the settings of the repository {top} say that its files are elsewhere",
            error_class="no_repository",
        )
    _refuse_outside(top, folder)
    if not _has(top, "HEAD^{commit}"):
        # In a new repository HEAD names nothing; in a damaged one it names a missing object.
        state = "cannot be read: objects are missing" if _has(top, "HEAD") else "has no commit yet"
        raise ToolError(
            f"the repository {top} {state}, so there can be no worktree; leave isolation out",
            error_class="no_repository",
        )
    return top


def _refuse_outside(top: Path, workspace: Path) -> None:
    """Raise ToolError unless git's data for a worktree lies in *workspace*.

    A `.git` that is a file, a link or has a `commondir` can name any other directory.
    """
    root = os.path.realpath(workspace)
    for option in ("--git-dir", "--git-common-dir"):
        reported = os.fsdecode(git(top, "rev-parse", option).removesuffix(b"\n"))
        for place in (top / reported, top / reported / "worktrees"):
            if os.path.commonpath([root, os.path.realpath(place)]) != root:
                raise ToolError(
                    f"the repository keeps its data in {os.path.realpath(place)}, outside the"
                    " workspace, so there can be no worktree; start nanocoder at the top of the"
                    " repository, or leave isolation out",
                    error_class="no_repository",
                )


def _has(top: Path, revision: str) -> bool:
    try:
        git(top, "rev-parse", "--verify", "--quiet", revision)
    except ToolError:
        return False
    return True
