"""One sub-agent: a session inside the session, its limits, and its outcome."""

import re
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from nanocoder import Cancelled, ChildSession, Mode, NanocoderError, ToolContext

from nanocoder_tool_task.change import Change
from nanocoder_tool_task.profiles import Profile
from nanocoder_tool_task.worktree import Worktree

ANSWER_REASONS = frozenset({"done", "denied", "turn_limit"})
_OURS = re.compile(
    r"^(?=[ \t]*(?:\[(?:\d+\]|a\d+ has|the turn limit)|task_result with id|It did not finish))",
    re.MULTILINE,
)
"""Pattern of lines in an answer that look like the lines this package adds."""


@frozen
class Job:
    """A task and the way to do it."""

    description: str
    prompt: str
    name: str
    profile: Profile
    isolated: bool = False
    background: bool = False


@frozen
class Outcome:
    """The outcome of a sub-agent; *error_class* and *problem* are empty when it answered.

    *change* is its change in a worktree of its own, *id* names it for task_result.
    """

    description: str
    text: str = ""
    stop_reason: str = "failed"
    error_class: str = ""
    problem: str = ""
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    session: str = ""
    files_changed: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    change: Change = field(factory=Change, repr=False)
    id: str = ""
    note: str = ""
    patch: str = ""
    merged: bool = False

    @property
    def for_model(self) -> str:
        """The text for the parent's model."""
        if self.error_class:
            answer = f"It did not finish: {self.problem}\n{_quoted(self.text)}".rstrip()
        else:
            limit = "[the turn limit was reached]" if self.stop_reason == "turn_limit" else ""
            answer = f"{limit}\n{_quoted(self.text) or '(no answer)'}".strip()
        return f"{answer}\n\n{self.note}".rstrip()

    def data(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "description": self.description,
            "text": self.text,
            "stop_reason": self.stop_reason,
            "error_class": self.error_class,
            "turns": self.turns,
            "calls": self.calls,
            "tokens": self.tokens,
            "cost": self.cost,
            "session": self.session,
            "files_changed": list(self.files_changed),
            "id": self.id,
            "patch": self.patch,
            "merged": self.merged,
        }


class Agent:
    """A sub-agent that is ready to start; `work` runs it to its end, on the calling thread."""

    def __init__(self, ctx: ToolContext, job: Job) -> None:
        """Open its session, and its worktree if it gets one.

        Raises: ToolError, UsageError, Cancelled.
        """
        self.job = job
        self._progress = ctx.progress
        self._tree = Worktree.create(ctx.workspace, ctx.cancelled) if job.isolated else None
        self._places = ("", "")
        if self._tree is not None:
            self._places = (str(ctx.workspace.root), str(self._tree.folder))
        try:
            self._session = _open_session(
                ctx, job, None if self._tree is None else self._tree.folder
            )
        except BaseException:
            self._close_tree()
            raise

    def interrupt(self) -> None:
        """Stop it; may be called from any thread."""
        self._session.interrupt()

    def work(self) -> Outcome:
        """Run it and return its outcome; an error of ours is an outcome, too."""
        try:
            outcome = self._run_session()
            if self._tree is None:
                return outcome
            # The parent does not know the copy, which is deleted before it reads the answer.
            text = moved(outcome.text, *reversed(self._places))
            return evolve(outcome, change=self._tree.change(), text=text)
        except NanocoderError as error:
            return failure_outcome(self.job.description, error)
        finally:
            self._close_tree()

    def _run_session(self) -> Outcome:
        calls = 0
        with self._session as session:
            prompt = moved(self.job.prompt, *self._places)
            for event in session.run(self.job.profile.first_message(prompt)):
                if event.kind == "call.started" and not event.data["parent"]:
                    calls += 1
                    if not self.job.background:
                        self._progress(f"{self.job.description}: {event.data['tool']}")
        return _make_outcome(session, self.job, calls)

    def _close_tree(self) -> None:
        if self._tree is not None:
            self._tree.place.close()
            self._tree = None


def moved(text: str, before: str, after: str) -> str:
    """Return *text* with paths of the directory *before* as those of *after*."""
    pattern = rf"(?<![\w/.-]){re.escape(before)}(?![\w-]|\.\w)"
    return re.sub(pattern, lambda _: after, text) if before else text


def _quoted(text: str) -> str:
    """Return an answer in which no line can be taken for one about this or another sub-agent."""
    return _OURS.sub("> ", text)


def failure_outcome(description: str, error: NanocoderError) -> Outcome:
    """Return the outcome of a sub-agent that could not work."""
    return Outcome(description, error_class=error.error_class, problem=str(error))


def run_agent(ctx: ToolContext, job: Job) -> Outcome:
    """Run one sub-agent to its end; a failed start is an outcome, too."""
    try:
        return Agent(ctx, job).work()
    except Cancelled:
        raise
    except NanocoderError as error:
        return failure_outcome(job.description, error)


def _open_session(ctx: ToolContext, job: Job, folder: Path | None) -> ChildSession:
    settings, profile = ctx.settings, job.profile
    # In plan mode no sub-agent does more than read.
    is_planning = ctx.session is not None and ctx.session.mode is Mode.PLAN
    profile = evolve(
        profile,
        mode=str(Mode.PLAN) if is_planning else profile.mode,
        without=(*profile.without, *settings.without),
    )
    return ctx.child(
        folder,
        model=profile.model or settings.model,
        mode=profile.mode or None,
        agent=job.name,
        title=job.description,
        background=job.background,
        tools=profile.has,
        max_turns=settings.max_turns,
        max_calls=settings.max_calls,
        max_tokens=settings.max_tokens,
    )


def _make_outcome(session: ChildSession, job: Job, calls: int) -> Outcome:
    report = session.report
    reason = str(report.stop_reason)
    error = report.error or {"class": reason, "message": reason.replace("_", " ")}
    has_answer = reason in ANSWER_REASONS
    return Outcome(
        job.description,
        text=report.text,
        stop_reason=reason,
        error_class="" if has_answer else error["class"],
        problem="" if has_answer else error["message"],
        turns=report.turns,
        calls=calls,
        tokens=report.usage.input_tokens + report.usage.output_tokens,
        cost=report.usage.cost,
        session=session.id if session.info.folder is not None else "",
        files_changed=() if job.isolated else report.files_changed,
    )
