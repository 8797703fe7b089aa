"""The tools of the reference."""

from typing import Annotated

from nanocoder import Param
from nanocoder_kit_dialect import Arguments, Shape, rename, shape

from nanocoder_dialect_opencli import texts


@shape("read", "read_file", render=texts.shorten)
def read(
    file_path: Annotated[str, "The file."],
    offset: Annotated[int, Param("The first line, from 1.", ge=1)] = 1,
    limit: Annotated[int, Param("How many lines.", ge=1)] = 2_000,
) -> Arguments:
    """Read a file; lines are numbered."""
    return {"path": file_path, "offset": offset, "limit": limit}


@shape("write", "write_file", render=texts.shorten)
def write(
    file_path: Annotated[str, "The file."],
    content: Annotated[str, "All of its new content."],
) -> Arguments:
    """Write a whole file."""
    return {"path": file_path, "content": content}


@shape("edit", "edit_file", render=texts.shorten)
def edit(
    file_path: Annotated[str, "The file."],
    old_string: Annotated[str, Param("Text that stands once in the file.", min_length=1)],
    new_string: Annotated[str, "What replaces it."],
) -> Arguments:
    """Replace text in a file."""
    return {"path": file_path, "old_string": old_string, "new_string": new_string}


@shape("bash", "bash", render=texts.show_output, render_failure=texts.describe_failed_command)
def bash(command: Annotated[str, "The command."]) -> Arguments:
    """Run a shell command."""
    return {"command": command}


SHAPES: tuple[Shape, ...] = (
    read,
    write,
    edit,
    bash,
    rename("atomic_edit", "atomic_edit"),
    rename("atomic_refactor", "atomic_refactor"),
)
