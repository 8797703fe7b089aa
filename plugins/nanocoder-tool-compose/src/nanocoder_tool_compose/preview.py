"""The preview before the single question: the steps, and one diff."""

from collections.abc import Mapping
from typing import Any

from nanocoder import SessionInfo, Workspace
from nanocoder_kit_files.diff import unified
from nanocoder_kit_files.text import read_text_file

from nanocoder_tool_compose.patterns import expand
from nanocoder_tool_compose.refactor import Refactor, diff_of, plan


def preview_edit(session: SessionInfo, arguments: Mapping[str, Any]) -> str:
    """Return the steps of atomic_edit and, for an exact match, the diff.

    Raises: ToolError when the file cannot be read. Only an exact match is previewed: edit_file
    alone knows how it finds other text.
    """
    path, old = arguments["file_path"], arguments["old_string"]
    steps = f"steps: read_file {path}, edit_file {path}"
    with Workspace(session.cwd, readable=session.readable) as workspace:
        file = read_text_file(workspace, path, note=False)
    if file.text.count(old) != 1:
        replacement = f"-{old}\n+{arguments['new_string']}"
        return f"{steps}\n[old_string does not occur exactly once]\n{replacement}"
    diff = unified(file.text, file.text.replace(old, arguments["new_string"]), file.path)
    return f"{steps}\n{diff.text}"


def preview_refactor(session: SessionInfo, arguments: Mapping[str, Any]) -> str:
    """Return the steps of atomic_refactor and one diff of all files.

    Raises: ToolError for a request that cannot work.
    """
    with Workspace(session.cwd, readable=session.readable) as workspace:
        request = expand(workspace, Refactor(**arguments))
        changes = plan(workspace, request)
    files = ", ".join(request.files)
    steps = f"steps: read_file, write_file {files}; bash {request.check}; restored if that fails"
    return f"{steps}\n{diff_of(changes)}"
