"""The tools of the reference, except batch."""

from typing import Annotated, Literal

from nanocoder import BadArguments, Param
from nanocoder_kit_dialect import Arguments, Shape, rename, shape

from nanocoder_dialect_nano import texts

WHOLE_FILE = 1_000_000_000  # lines
DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 1_800_000


@shape("read", "read_file", render=texts.number_lines)
def read(
    path: Annotated[str, "The absolute path of the file."],
    offset: Annotated[float, Param("How many lines to skip; 0 is the first line.", ge=0)] = 0,
    limit: Annotated[float, Param("How many lines to read; 0 is all of them.", ge=0)] = 0,
) -> Arguments:
    """Read a file; lines are numbered from 1."""
    return {
        "path": _absolute(path),
        "offset": int(offset) + 1,
        "limit": int(limit) or WHOLE_FILE,
    }


@shape("write", "write_file", render=texts.describe_write)
def write(
    path: Annotated[str, "The absolute path of the file."],
    content: Annotated[str, "All of its new content."],
) -> Arguments:
    """Write a file; folders are made as needed."""
    return {"path": _absolute(path), "content": content}


@shape("edit", "edit_file", render=texts.describe_edit)
def edit(
    path: Annotated[str, "The absolute path of the file."],
    old_string: Annotated[str, Param("Text that stands once in the file.", min_length=1)],
    new_string: Annotated[str, "What replaces it."],
) -> Arguments:
    """Replace text in a file."""
    return {"path": _absolute(path), "old_string": old_string, "new_string": new_string}


@shape("bash", "bash", render=texts.describe_command, render_failure=texts.describe_failed_command)
def bash(
    command: Annotated[str, "The command."],
    timeout: Annotated[
        float, Param("The limit in milliseconds.", gt=0, le=MAX_TIMEOUT_MS)
    ] = DEFAULT_TIMEOUT_MS,
) -> Arguments:
    """Run a shell command in the working directory."""
    return {"command": command, "timeout": timeout / 1000}


@shape("glob", "glob", render=texts.list_files)
def glob(
    pattern: Annotated[str, "A pattern such as **/*.ts."],
    path: Annotated[str, "The directory to look in; the working directory by default."] = ".",
) -> Arguments:
    """Find files by name, newest first."""
    return {"pattern": pattern, "path": path}


@shape("grep", "grep")
def grep(
    pattern: Annotated[str, "A regular expression."],
    path: Annotated[str, "A file or directory; the working directory by default."] = ".",
    include: Annotated[str, "Only files like this, such as *.ts."] = "",
) -> Arguments:
    """Find the lines that match a pattern."""
    return {"pattern": pattern, "path": path, "glob": include}


@shape("task", "task", render=texts.drop_merge_advice)
def task(
    description: Annotated[str, "A short title."],
    prompt: Annotated[str, Param("All it needs to know.", min_length=1)],
    name: Annotated[str, "general, build; explore, plan, review, security only read."] = "general",
    isolation: Annotated[
        Literal["none", "worktree"], "worktree: on a copy; returns a patch."
    ] = "none",
    *,
    merge: Annotated[bool, "Merge that patch."] = False,
) -> Arguments:
    """Let a sub-agent do a task; returns its answer."""
    return {
        "description": description,
        "prompt": prompt,
        "name": name,
        "isolation": isolation,
        "merge": merge,
    }


SHAPES: tuple[Shape, ...] = (read, write, edit, bash, glob, grep)
TASK_AND_SKILL: tuple[Shape, ...] = (task, rename("skill", "skill"))


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise BadArguments([f"path: expected an absolute path, got {path!r}"])
    return path
