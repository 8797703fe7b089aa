"""The four tools of the reference."""

from typing import Annotated

from nanocoder import Param
from nanocoder_kit_dialect import Arguments, shape

from nanocoder_dialect_tutorial import texts

WHOLE_FILE = 1_000_000_000  # lines
DEFAULT_TIMEOUT_MS = 30_000
MAX_TIMEOUT_MS = 1_800_000


@shape(
    "read_file", "read_file", render=texts.number_lines, render_failure=texts.describe_failed_read
)
def read_file(
    path: Annotated[str, "The file, relative to the working directory or absolute."],
    offset: Annotated[float, Param("The first line to read; lines count from 1.", ge=1)] = 1,
    limit: Annotated[float, Param("How many lines to read; 0 is all of them.", ge=0)] = 0,
) -> Arguments:
    """Read a text file; each line comes with its number."""
    return {"path": path, "offset": int(offset), "limit": int(limit or WHOLE_FILE)}


@shape(
    "write_file", "write_file", render=texts.show_diff, render_failure=texts.describe_failed_write
)
def write_file(
    path: Annotated[str, "The file, relative to the working directory or absolute."],
    content: Annotated[str, "All of its new content."],
) -> Arguments:
    """Create or overwrite a file. Read it first, and tell the user what you plan to change."""
    return {"path": path, "content": content}


@shape("bash", "bash", render=texts.show_output, render_failure=texts.describe_failed_command)
def bash(
    command: Annotated[str, "The command."],
    timeout: Annotated[
        float, Param("The limit in milliseconds.", gt=0, le=MAX_TIMEOUT_MS)
    ] = DEFAULT_TIMEOUT_MS,
) -> Arguments:
    """Run a shell command in the working directory and return what it prints."""
    return {"command": command, "timeout": timeout / 1000}


@shape("search", "grep", render=texts.list_matches)
def search(
    pattern: Annotated[str, "A regular expression."],
    path: Annotated[str, "The directory or file to search."] = ".",
    glob: Annotated[str, "Only files whose name fits, such as *.ts."] = "",
    maxResults: Annotated[  # noqa: N803, ARG001 - their name; used when the answer is worded
        float, Param("How many lines to show.", ge=1)
    ] = 20,
) -> Arguments:
    """Search the files for lines that match a pattern."""
    return {"pattern": pattern, "path": path, "glob": glob, "limit": texts.SEARCHED_LINES}
