"""Tasks, and their text in TODO.md."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from attrs import frozen
from nanocoder import Param

Status = Literal["pending", "in_progress", "completed", "cancelled"]
Priority = Literal["high", "medium", "low"]

MAX_CONTENT_CHARS = 500
BOXES: dict[Status, str] = {
    "pending": " ",
    "in_progress": ">",
    "completed": "x",
    "cancelled": "-",
}
_STATUSES: dict[str, Status] = {box: status for status, box in BOXES.items()}
_LINE = re.compile(r"- \[(.)\] (?:(high|medium|low): )?(.+)")


@frozen
class Task:
    """One task."""

    content: Annotated[str, Param("Task.", min_length=1, max_length=MAX_CONTENT_CHARS)]
    status: Annotated[Status, "State."] = "pending"
    priority: Annotated[Priority, "Weight."] = "medium"

    @property
    def line(self) -> str:
        """The task as a line of TODO.md."""
        return f"- [{BOXES[self.status]}] {self.priority}: {' '.join(self.content.split())}"


def format_boxes(tasks: Iterable[Task]) -> str:
    """Return the tasks for the screen, a line each."""
    return "\n".join(f"[{BOXES[task.status]}] {' '.join(task.content.split())}" for task in tasks)


def format_tasks(tasks: Iterable[Task]) -> str:
    """Return the text of TODO.md."""
    return "".join(["# Tasks\n\n", *(f"{task.line}\n" for task in tasks)])


def parse_tasks(text: str) -> list[Task]:
    """Return the tasks in *text*; other lines are the user's notes and are skipped."""
    matches = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return [
        Task(match[3], _STATUSES[match[1].lower()], _priority(match[2]))
        for match in matches
        if match and match[1].lower() in _STATUSES
    ]


def count_by_status(tasks: Sequence[Task]) -> dict[str, int]:
    """Return the number of tasks of each status, zero included."""
    return {status: sum(task.status == status for task in tasks) for status in BOXES}


def summary(tasks: Sequence[Task]) -> str:
    """Return the numbers of tasks: "3 tasks: 1 pending, 2 completed"."""
    parts = [f"{count} {status}" for status, count in count_by_status(tasks).items() if count]
    total = f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}"
    return f"{total}: {', '.join(parts)}" if parts else "no tasks"


def _priority(text: str | None) -> Priority:
    return "high" if text == "high" else "low" if text == "low" else "medium"
