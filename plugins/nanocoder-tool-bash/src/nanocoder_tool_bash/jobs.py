"""bash_job: the output and the end of commands that run in the background."""

import time
from typing import Annotated, Any, Final, Literal

from nanocoder import Cancel, Effect, Param, ToolContext, ToolError, ToolResult, tool
from nanocoder_kit_process.background import Background, BackgroundProcess

from nanocoder_tool_bash.settings import Settings

MAX_JOBS: Final = 8
MAX_WAIT_S: Final = 60
LOOK_S: Final = 0.5

Action = Literal["list", "read", "kill"]


class Jobs(Background[BackgroundProcess]):
    """The jobs of a session, and those of which the model knows that they have ended."""

    def __init__(self) -> None:
        super().__init__("job", MAX_JOBS)
        self.announced: set[str] = set()


def open_jobs() -> Jobs:
    """Return the jobs of a new session: none yet."""
    return Jobs()


@tool(
    risk="safe",
    effects={Effect.READ},
    timeout_s=0,
    repeatable=True,
    examples=[{"action": "list"}],
)
def bash_job(
    ctx: ToolContext,
    action: Annotated[Action, "Action; read gives the output since the last read."],
    id: Annotated[str, "Job; as bash called it."] = "",  # noqa: A002 - the name in the tool's schema
    wait: Annotated[
        float, Param("Seconds; to wait for output or the end.", ge=0, le=MAX_WAIT_S)
    ] = 0,
) -> ToolResult:
    """List or kill the jobs that bash runs in the background, as servers; read their logs."""
    jobs: Jobs = ctx.resource("jobs")
    if action == "list":
        return _list(jobs)
    if not id:
        raise ToolError(f"{action} needs 'id'", error_class="invalid_arguments")
    job = jobs.get(id)
    if action == "kill":
        return _kill(jobs, job)
    _wait(job, wait, ctx.cancelled)
    settings: Settings = ctx.settings or Settings()
    return _read(jobs, job, settings.output_chars)


def note_ended_jobs(jobs: Jobs) -> tuple[str, ...]:
    """Return a line for each job that has ended since the last time."""
    ended = [
        job for job in jobs.all() if job.exit_code is not None and job.id not in jobs.announced
    ]
    jobs.announced.update(job.id for job in ended)
    return tuple(f"{job.id} {_state(job)}; bash_job reads its last output" for job in ended)


def _list(jobs: Jobs) -> ToolResult:
    listed = jobs.all()
    lines = [f"{job.id}: {_state(job)}, {job.uptime_s:.0f} s: {job.command}" for job in listed]
    return ToolResult(
        "\n".join(lines) or "There are no jobs.",
        title="Jobs",
        data={"jobs": [_data(job) for job in listed]},
    )


def _read(jobs: Jobs, job: BackgroundProcess, limit: int) -> ToolResult:
    # The code is read before the output: output in between then comes with the next read.
    code = job.exit_code
    if code is not None:
        jobs.forget(job)
        job.stop()  # waits for the rest of its output
    text, lost = job.news()
    data = {**_data(job), "exit_code": code}
    cut = max(0, len(text) - limit)
    notes = [f"[{lost:,} bytes before this came too fast and are lost]"] if lost else []
    notes += [f"[{cut:,} characters before this are left out]"] if cut else []
    lines = [*notes, text[cut:].rstrip("\n") or "(no new output)", f"[{_state(job)}]"]
    return ToolResult("\n".join(lines), title=job.id, data=data)


def _kill(jobs: Jobs, job: BackgroundProcess) -> ToolResult:
    was_running = job.stop()
    jobs.forget(job)
    how = "and everything it had started were ended" if was_running else "had ended already"
    last = job.news().text.rstrip("\n")
    return ToolResult("\n".join(filter(None, [last, f"[{job.id} {how}]"])), title=job.id)


def _wait(job: BackgroundProcess, seconds: float, cancelled: Cancel) -> None:
    deadline = time.monotonic() + seconds
    while not job.has_news and job.exit_code is None and time.monotonic() < deadline:
        job.wait(min(LOOK_S, max(0.0, deadline - time.monotonic())))
        cancelled.check()


def _state(job: BackgroundProcess) -> str:
    code = job.exit_code
    return "running" if code is None else f"ended with exit code {code}"


def _data(job: BackgroundProcess) -> dict[str, Any]:
    return {
        "id": job.id,
        "command": job.command,
        "exit_code": job.exit_code,
        "uptime_s": round(job.uptime_s, 1),
    }
