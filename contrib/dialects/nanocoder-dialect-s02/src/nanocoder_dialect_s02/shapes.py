"""The four tools of the reference."""

from typing import Annotated

from nanocoder import Param
from nanocoder_kit_dialect import Arguments, shape

from nanocoder_dialect_s02 import texts
from nanocoder_dialect_s02.dangerous import refuse_dangerous

WHOLE_FILE = 1_000_000_000  # lines


@shape("bash", "bash", render=texts.show_output, render_failure=texts.describe_failed_command)
def bash(command: Annotated[str, "The command."]) -> Arguments:
    """Run a shell command; it has 120 seconds."""
    refuse_dangerous(command)
    return {"command": command}


@shape("read_file", "read_file", render=texts.show_lines, render_failure=texts.describe_failure)
def read_file(
    path: Annotated[str, "The file, relative to the workspace."],
    limit: Annotated[int, Param("Show this many lines; 0 is all of them.", ge=0)] = 0,
) -> Arguments:
    """Read a file."""
    return {"path": path, "limit": limit or WHOLE_FILE}


@shape(
    "write_file", "write_file", render=texts.describe_write, render_failure=texts.describe_failure
)
def write_file(
    path: Annotated[str, "The file, relative to the workspace."],
    content: Annotated[str, "All of its new content."],
) -> Arguments:
    """Write a file; folders are made as needed."""
    return {"path": path, "content": content}


@shape(
    "edit_file", "edit_file", render=texts.describe_edit, render_failure=texts.describe_failed_edit
)
def edit_file(
    path: Annotated[str, "The file, relative to the workspace."],
    old_text: Annotated[str, Param("The text to replace, exactly as in the file.", min_length=1)],
    new_text: Annotated[str, "What replaces it."],
) -> Arguments:
    """Replace text that stands once in a file."""
    return {"path": path, "old_string": old_text, "new_string": new_text}
