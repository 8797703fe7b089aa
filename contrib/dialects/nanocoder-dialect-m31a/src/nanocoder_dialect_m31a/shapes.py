"""The nineteen tools of the reference, and one that reads results of background agents."""

from typing import Annotated, Literal

from nanocoder import BadArguments, Param
from nanocoder_kit_dialect import Arguments, Shape, rename, shape

from nanocoder_dialect_m31a import texts
from nanocoder_dialect_m31a.quantifiers import problem

WHOLE_FILE = 1_000_000_000  # lines
MAX_TIMEOUT_S = 1_800


@shape("Bash", "bash", render=texts.show_output, render_failure=texts.describe_failed_command)
def bash(
    command: Annotated[str, "The command."],
    timeout: Annotated[int, Param("The limit in seconds.", ge=1, le=MAX_TIMEOUT_S)] = MAX_TIMEOUT_S,
    workdir: Annotated[str, "The directory in which it runs."] = ".",
) -> Arguments:
    """Run a shell command; it gets no input."""
    return {"command": command, "timeout": timeout, "workdir": workdir}


@shape("FileRead", "read_file", render=texts.number_lines)
def file_read(
    path: Annotated[str, "The file."],
    offset: Annotated[int, Param("The first line, from 1.", ge=1)] = 1,
    limit: Annotated[int, Param("How many lines; 0 is all of them.", ge=0)] = 0,
) -> Arguments:
    """Read a file; lines are numbered, images and PDF are attached."""
    return {"path": path, "offset": offset, "limit": limit or WHOLE_FILE}


@shape("FileWrite", "write_file")
def file_write(
    path: Annotated[str, "The file."],
    content: Annotated[str, "All of its new content."],
) -> Arguments:
    """Write a whole file; what was there is backed up."""
    return {"path": path, "content": content}


@shape("Edit", "edit_file", render=texts.describe_edit)
def edit(
    path: Annotated[str, "The file."],
    *,
    old_string: Annotated[str, "The text to replace; not together with start_line."] = "",
    new_string: Annotated[str, "What replaces it."],
    start_line: Annotated[int, Param("Replace lines from here, from 1, instead.", ge=0)] = 0,
    end_line: Annotated[int, Param("The last of these lines.", ge=0)] = 0,
    replace_all: Annotated[bool, "Replace every occurrence."] = False,
) -> Arguments:
    """Replace text, or a range of lines, in a file."""
    if not (old_string or start_line):
        raise BadArguments(["old_string or start_line: one of them is required"])
    if start_line or end_line:
        lines = {"start_line": start_line, "end_line": end_line}
        change = {"old_string": old_string, "new_string": new_string, **lines}
        return {"path": path, "edits": [change]}
    return {
        "path": path,
        "old_string": old_string,
        "new_string": new_string,
        "replace_all": replace_all,
    }


@shape("Grep", "grep", render=texts.list_matches)
def grep(
    pattern: Annotated[str, "A regular expression."],
    path: Annotated[str, "A file or directory."] = ".",
    include: Annotated[str, "Only files like this, such as *.go."] = "",
    context: Annotated[int, Param("Lines around each match.", ge=0, le=50)] = 0,
    *,
    fixed_string: Annotated[bool, "The pattern is plain text."] = False,
) -> Arguments:
    """Find the lines that match a pattern."""
    quantifier_problem = "" if fixed_string else problem(pattern)
    if quantifier_problem:
        raise BadArguments([f"pattern: {quantifier_problem}; with fixed_string it is plain text"])
    return {
        "pattern": pattern,
        "path": path,
        "glob": include,
        "context": context,
        "fixed_string": fixed_string,
    }


@shape("FileMove", "move_file")
def file_move(
    source: Annotated[str, "What to move."],
    destination: Annotated[str, "Its new path; a file there is backed up and replaced."],
) -> Arguments:
    """Move or rename a file."""
    return {"source": source, "destination": destination, "replace": True}


@shape("Agent", "task", render=texts.rename_task_tool)
def agent(
    description: Annotated[str, "A short title."],
    prompt: Annotated[str, Param("All it needs to know.", min_length=1)],
    name: Annotated[str, "general, build; explore, plan, review, security only read."] = "general",
    isolation: Annotated[
        Literal["none", "worktree"], "worktree: on a copy; returns a patch."
    ] = "none",
    *,
    run_in_background: Annotated[bool, "Return at once; see AgentResult."] = False,
) -> Arguments:
    """Let a sub-agent do a task; returns its answer."""
    return {
        "description": description,
        "prompt": prompt,
        "name": name,
        "isolation": isolation,
        "background": run_in_background,
    }


# The reference has no such tool: its sub-agents in the background report by themselves. Here a
# model reads their answers when it wants them.
agent_result = Shape("AgentResult", "task_result", render=texts.rename_task_tool)

SHAPES: tuple[Shape, ...] = (
    bash,
    file_read,
    file_write,
    edit,
    rename("Glob", "glob"),
    grep,
    rename("FileDelete", "delete_file"),
    file_move,
    rename("FileList", "list_files"),
    rename("CodeMap", "code_map"),
    rename("WebFetch", "web_fetch"),
    rename("WebSearch", "web_search"),
    rename("TodoWrite", "todo_write"),
    rename("TodoRead", "todo_read"),
    rename("AskUserQuestion", "ask_user"),
    agent,
    agent_result,
    rename("CodeComplexity", "code_complexity"),
    rename("DevServer", "dev_server"),
    rename("HTTPCheck", "http_check"),
)
