"""The tools todo_write and todo_read: the session's list of tasks."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from attrs import evolve
from nanocoder import (
    Effect,
    Param,
    Resource,
    SessionInfo,
    Tool,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)

from nanocoder_tool_todo.board import Board
from nanocoder_tool_todo.tasks import (
    Task,
    count_by_status,
    format_boxes,
    format_tasks,
    parse_tasks,
    summary,
)

MAX_TASKS = 100


# Both tools are declared as reading: the list is the session's own, not a file of the workspace.
@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"todos": [{"content": "Fix the test", "status": "in_progress"}]}],
)
def todo_write(
    ctx: ToolContext,
    todos: Annotated[
        list[Task], Param("All tasks; those that are done, too.", max_length=MAX_TASKS)
    ],
) -> ToolResult:
    """Keep your plan as a checklist, in work of several steps; each call replaces it.

    Have one in_progress, and mark it completed as soon as it is.
    """
    board: Board = ctx.resource("board")
    board.write(format_tasks(todos))
    result = _result(f"Tasks saved. {summary(todos).capitalize()}.", todos, todos, board)
    boxes = format_boxes(todos)
    return evolve(result, metadata={**result.metadata, "shown": boxes, "lasting": boxes})


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    repeatable=True,
    examples=[{}, {"status": "pending"}],
)
def todo_read(
    ctx: ToolContext,
    status: Annotated[
        Literal["pending", "in_progress", "completed", "cancelled", "all"],
        "Which; counts are of all.",
    ] = "all",
) -> ToolResult:
    """Read your list of tasks with their states."""
    board: Board = ctx.resource("board")
    text = board.read()
    if text is None:
        return _result("There is no task list yet; todo_write makes one.", [], [], board)
    tasks = parse_tasks(text)
    selected = [task for task in tasks if status in ("all", task.status)]
    lines = [task.line for task in selected] or [f"No task is {status}." if tasks else ""]
    return _result("\n".join([*lines, f"[{summary(tasks)}]"]).strip(), selected, tasks, board)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer todo_write and todo_read."""
    return [todo_write, todo_read]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide one list for each session."""
    return [Resource("board", _open_board)]


def _open_board(session: SessionInfo, _settings: Any) -> Board:
    return Board(session.folder)


def _result(
    output: str, selected: Sequence[Task], tasks: Sequence[Task], board: Board
) -> ToolResult:
    todos = [
        {"content": task.content, "status": task.status, "priority": task.priority}
        for task in selected
    ]
    counts = count_by_status(tasks)
    return ToolResult(
        output,
        title="Tasks",
        data={"todos": todos, "counts": counts, "total": len(tasks)},
        metadata={"counts": counts, "total": len(tasks), "path": str(board.path or "")},
    )
