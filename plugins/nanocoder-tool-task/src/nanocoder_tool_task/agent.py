"""One sub-agent: a loop of its own, and not one call that its parent would not have made.

The sub-agent's session only talks to the model. Its calls leave it through `ctx.call`, as steps of
the parent's call: the parent's policies judge them, its person is asked, its hooks see the results
and its journal keeps them.
"""

from collections.abc import Generator, Sequence
from types import SimpleNamespace
from typing import Any, cast

from attrs import evolve, field, frozen
from nanocoder import (
    Cancel,
    Cancelled,
    Decision,
    Event,
    Mode,
    NanocoderError,
    Session,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Verdict,
    hookimpl,
    open_session,
)

from nanocoder_tool_task.profiles import Profile, instructed

ANSWERED = frozenset({"done", "turn_limit"})


@frozen
class Budget:
    """What one sub-agent may use."""

    max_turns: int = 25
    max_calls: int = 50
    max_tokens: int = 50_000


@frozen
class Outcome:
    """What a sub-agent came to; *error_class* and *problem* are empty when it answered."""

    description: str
    text: str = ""
    stop_reason: str = "failed"
    error_class: str = ""
    problem: str = ""
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    files_changed: tuple[str, ...] = field(default=(), converter=tuple[str, ...])

    @property
    def told(self) -> str:
        """What the parent's model reads."""
        if self.error_class:
            return f"It did not finish: {self.problem}\n{self.text}".rstrip()
        note = "[the turn limit was reached]" if self.stop_reason == "turn_limit" else ""
        return f"{note}\n{self.text or '(no answer)'}".strip()

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
            "files_changed": list(self.files_changed),
        }


class Relay:
    """Stands where a session's executor stands, and lets the parent take every call."""

    def __init__(self, ctx: ToolContext, session: Session, budget: Budget, label: str) -> None:
        self.calls = 0
        self._ctx = ctx
        self._session = session
        self._budget = budget
        self._label = label
        self._told_so = False

    def turn(
        self, wanted: Sequence[ToolCall], cancel: Cancel
    ) -> Generator[Event, None, list[ToolResult]]:
        """Return a result for each call of one turn.

        Raises: ToolError when the sub-agent goes on though its budget is spent.
        """
        yield from ()
        if self._told_so:
            raise ToolError(f"its budget is spent: {self._spent()}", error_class="budget")
        return [self._result(call, cancel) for call in wanted]

    def close(self) -> None:
        """Hold nothing, close nothing."""

    def _result(self, call: ToolCall, cancel: Cancel) -> ToolResult:
        cancel.check()
        try:
            return evolve(self._taken(call), call_id=call.id)
        except Cancelled:
            raise
        except NanocoderError as error:
            return ToolResult(
                str(error), is_error=True, error_class=error.error_class, call_id=call.id
            )

    def _taken(self, call: ToolCall) -> ToolResult:
        if call.error:
            raise ToolError(call.error, error_class="invalid_arguments")
        spent = self._spent()
        if spent:
            self._told_so = True
            raise ToolError(
                f"not run, the budget is spent ({spent}); answer now with what you have",
                error_class="budget",
            )
        if call.name not in self._session.tools:
            have = ", ".join(self._session.tools) or "none"
            raise ToolError(
                f"this sub-agent has no tool {call.name!r}; it has: {have}",
                error_class="unknown_tool",
            )
        self.calls += 1
        self._ctx.progress(f"{self._label}: {call.name}")
        return self._ctx.call(call.name, call.arguments)

    def _spent(self) -> str:
        """Say which limit is reached, or nothing."""
        if self.calls >= self._budget.max_calls:
            return f"{self._budget.max_calls} calls"
        usage = self._session.report.usage
        if usage.input_tokens + usage.output_tokens >= self._budget.max_tokens:
            return f"{self._budget.max_tokens} tokens"
        return ""


def work_on(ctx: ToolContext, description: str, prompt: str, profile: Profile) -> Outcome:
    """Run one sub-agent to its end, on the calling thread.

    Raises: UsageError, ConfigError or ProviderError when there is no model to ask.
    """
    with _opened(ctx, profile) as session:
        relay = Relay(ctx, session, ctx.settings.budget, description)
        # The one thing a session does with its executor is to hand it the calls of a turn.
        session.executor = cast("Any", relay)
        forget = ctx.cancelled.on_set(session.interrupt)
        try:
            for _ in session.run(instructed(profile, prompt)):
                if ctx.cancelled.is_set():  # it may have been before there was a run to stop
                    session.interrupt()
        finally:
            forget()
        return _outcome(session, description, relay.calls)


def _opened(ctx: ToolContext, profile: Profile) -> Session:
    about = ctx.session or SessionInfo(ctx.session_id, ctx.working_directory)
    settings = ctx.settings
    session = open_session(
        ctx.working_directory,
        model=settings.model or about.model,
        mode=Mode.PLAN if profile.only_reads else about.mode,
        max_turns=settings.max_turns,
        persist=False,
    )
    config = session.config
    unfit = {name for name, one in session.tools.items() if _is_unfit(one, profile)}
    session.plugins.add(SimpleNamespace(nanocoder_before_execute=hookimpl(_ask)), "task-relay")
    session.plugins.configure(
        config.settings,
        disabled=config.disabled_plugins,
        owners=config.tool_owner,
        names=config.tool_rename,
        hidden={*config.disabled_tools, *settings.without, *unfit},
    )
    return session


def _is_unfit(tool: Tool[..., Any], profile: Profile) -> bool:
    """Tell whether sub-agents do not get *tool*: those that call any tool start no others."""
    return "*" in tool.composed_of or (profile.only_reads and not tool.is_read_only)


def _ask() -> Verdict:
    """Let the sub-agent's session by itself do nothing; its parent's decides."""
    return Verdict(Decision.ASK, "the parent's session decides")


def _outcome(session: Session, description: str, calls: int) -> Outcome:
    report = session.report
    reason = str(report.stop_reason)
    error = report.error or {"class": reason, "message": reason.replace("_", " ")}
    answered = reason in ANSWERED
    return Outcome(
        description,
        text=report.text,
        stop_reason=reason,
        error_class="" if answered else error["class"],
        problem="" if answered else error["message"],
        turns=report.turns,
        calls=calls,
        tokens=report.usage.input_tokens + report.usage.output_tokens,
        files_changed=report.files_changed,
    )
