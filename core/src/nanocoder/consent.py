"""Consent: what the policies say of a call, and what a person answers when they say "ask"."""

import hashlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from attrs import define, evolve, frozen

from nanocoder import calls
from nanocoder.cancel import Cancel
from nanocoder.errors import ApprovalNeeded, Denied, ToolError
from nanocoder.plugins import Plugins
from nanocoder.rendering import Preview, Previews
from nanocoder.schema import canonical_json, copied
from nanocoder.stages import Watch
from nanocoder.tool import ANY_TOOL, SessionInfo, Tool
from nanocoder.values import (
    ApprovalAnswer,
    ApprovalRequest,
    Decision,
    Effect,
    Event,
    Question,
    Risk,
    Shown,
    ToolCall,
    Value,
    Verdict,
)

Approver = Callable[[ApprovalRequest], ApprovalAnswer | None]
Asker = Callable[[Question], str | None]
Check = Callable[[Mapping[str, Any]], dict[str, Any]]

APPROVAL_TIMEOUT_S = 300.0
ANSWER_FIELDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "approved": bool,
    "always": bool,
    "reason": str,
    "arguments": (Mapping, type(None)),
}
"""What the fields of an answer must be, whoever gives it."""
MAX_QUESTIONS = 10
"""How often a person is asked about one call, edited or changed meanwhile, before it is refused."""


@define(eq=False, repr=False)
class Ask(Shown):
    """A question on its way to whoever can put it to a person.

    It travels like an event and comes back answered; a text in place of an approval says why there
    is none. *told* is the event that says so: yielded when it is put, and not while another is.
    """

    request: ApprovalRequest | Question
    told: Event
    answer: ApprovalAnswer | str | None = None


@frozen(eq=False, repr=False)
class Granted(Value):
    """A call that may run: its frozen form, and the checked arguments that its handler gets.

    *consented* tells whether somebody agreed to this call: a person who was asked, or who wrote a
    rule that allows it. What the mode of the session allows nobody has looked at. With an
    *obstacle* the call cannot work: nobody was asked, and it ends with that error.
    """

    call: ToolCall
    arguments: dict[str, Any]
    consented: bool = True
    obstacle: ToolError | None = None


class Consent:
    """Judges calls and asks for approval; one for each session.

    Consent that was kept lives as long as it does.
    """

    def __init__(
        self,
        plugins: Plugins,
        session: SessionInfo,
        approve: Approver | None = None,
        ask: Asker | None = None,
        kept: set[tuple[str, ...]] | None = None,
        approval_timeout_s: float = APPROVAL_TIMEOUT_S,
    ) -> None:
        """Judge for *session*; *kept* is the consent that it shares with another one."""
        self.session = session
        self._plugins = plugins
        self._approve = approve
        self._ask = ask
        self._sequence = itertools.count(1)
        self._timeout_s = approval_timeout_s
        self._previews = Previews()
        self.kept: set[tuple[str, ...]] = set() if kept is None else kept

    def verdict(self, call: ToolCall, tool: Tool[..., Any]) -> Verdict:
        """Return the strictest verdict of all policies; without any, all but safe reading asks."""
        heard = calls.judge(
            self._plugins.implementations("nanocoder_before_execute"),
            self._plugins.report,
            self._about(call, tool),
        )
        return heard or _unjudged(call, tool)

    def verdicts(self, call: ToolCall, tool: Tool[..., Any]) -> list[Verdict]:
        """Return every policy's verdict, for explaining."""
        heard = calls.verdicts(
            self._plugins.implementations("nanocoder_before_execute"),
            self._plugins.report,
            self._about(call, tool),
        )
        return heard or [_unjudged(call, tool)]

    def obtain(
        self,
        call: ToolCall,
        tool: Tool[..., Any],
        check: Check,
        watch: Watch,
        cancel: Cancel,
        *,
        consented: bool = False,
    ) -> Generator[Event | Ask, None, Granted]:
        """Yield what happens on the way to consent and return the call as it may run.

        *consented* says that a person agreed to the composed call that this one is a step of. An
        edit approves what was written: the edited call is checked and judged again, and asked for
        again only when a rule has something new to say. Nobody is asked about a call that its own
        preview finds impossible, unless by a rule: what that guards, the error may tell of.
        Raises: Denied, ApprovalNeeded, BadArguments, Cancelled.
        """
        arguments = check(call.arguments)
        yield Event("call.validated", call_id=call.id)
        watch.enter("policy")
        agreed: tuple[str, ...] | None = None
        for _ in range(MAX_QUESTIONS):
            verdict = self.verdict(call, tool)
            yield Event("call.decided", verdict_data(verdict), call.id)
            if verdict.decision is Decision.DENY:
                raise Denied(f"denied: {verdict.reason}", data=verdict_data(verdict))
            asked = (verdict.rule, verdict.reason)
            if verdict.decision is Decision.ALLOW:
                return Granted(call, arguments, consented or bool(verdict.rule))
            if (consented and not verdict.pierces) or asked == agreed:
                return Granted(call, arguments)
            if _key(verdict, call, tool) in self.kept:
                return Granted(call, arguments)
            preview = self._preview(call, tool, cancel)
            if preview.obstacle is not None and not verdict.rule:
                return Granted(call, arguments, obstacle=preview.obstacle)
            request = self._request(call, tool, verdict, preview.text)
            answer = yield from self._answered(request, verdict, tool, watch)
            if answer.arguments is None:
                if not self._still_holds(verdict, call, tool):
                    continue
                yield Event("call.approved", {"always": answer.always}, call.id)
                return Granted(call, arguments)
            agreed = asked
            call = evolve(call, arguments=copied(answer.arguments), edited=True)
            arguments = check(call.arguments)
            yield Event("call.edited", {"arguments": call.arguments}, call.id)
        raise Denied(f"denied: it was asked about {MAX_QUESTIONS} times and changed each time")

    def _still_holds(self, asked: Verdict, call: ToolCall, tool: Tool[..., Any]) -> bool:
        """Tell whether a yes answers what would be asked by now; raises Denied for what is denied.

        While the question stood the mode may have changed, or a path may have become a link.
        """
        # As one that a person has seen: whoever counts calls has counted it.
        verdict = self.verdict(evolve(call, edited=True), tool)
        if verdict.decision is Decision.DENY:
            raise Denied(f"denied: {verdict.reason}", data=verdict_data(verdict))
        if verdict.decision is Decision.ALLOW:
            return True
        return (verdict.rule, verdict.source) == (asked.rule, asked.source)

    def _answered(
        self, request: ApprovalRequest, verdict: Verdict, tool: Tool[..., Any], watch: Watch
    ) -> Generator[Event | Ask, None, ApprovalAnswer]:
        call = request.call
        question = Ask(request, Event("call.approval_requested", request_data(request), call.id))
        began = time.perf_counter()
        yield question
        watch.asked_s += time.perf_counter() - began
        answer = question.answer
        if isinstance(answer, str):
            raise Denied(f"denied: {answer}")
        if not isinstance(answer, ApprovalAnswer):
            raise ApprovalNeeded(
                f"approval needed: {call.name} was not run because nobody can answer"
                f" ({verdict.reason})",
                data=verdict_data(verdict),
            )
        # Taken anew: whoever changed the request has not agreed to what runs.
        if (answer.id, answer.digest) != (request.id, digest_of(call.arguments)):
            raise Denied("denied: the answer belongs to another request")
        _refuse_unsound(answer)
        if not answer.approved:
            raise Denied(
                f"denied by the user: {answer.reason}" if answer.reason else "denied by the user"
            )
        if answer.always:
            # What was edited away they did not agree to.
            edited = call.arguments if answer.arguments is None else copied(answer.arguments)
            self.kept.add(_key(verdict, evolve(call, arguments=edited), tool))
        return answer

    def ask(
        self, request: ApprovalRequest | Question, cancel: Cancel
    ) -> ApprovalAnswer | str | None:
        """Put a request to whoever answers for the person; None when nobody does.

        An answer that comes after the request's time counts no more: a text says so.
        """
        settings = self._plugins.settings
        about = {"session": self.session, "settings": settings, "cancelled": cancel}
        if isinstance(request, Question):
            return self._inquire(request, about)

        def approval() -> ApprovalAnswer | None:
            return calls.choose(
                self._whoever("nanocoder_approve", self._approve, "request"),
                self._plugins.report,
                {"request": request, **about},
                ApprovalAnswer,
            )

        # A screen needs this thread for its signals and keeps the time itself.
        beside = self._approve is not None
        return in_time(approval, request.timeout_s, cancel, beside=beside)

    def _inquire(self, question: Question, about: Mapping[str, Any]) -> str | None:
        if self._ask is None and not self.session.interactive:
            return None
        return calls.choose(
            self._whoever("nanocoder_ask", self._ask, "question"),
            self._plugins.report,
            {"question": question, **about},
            str,
        )

    def _whoever(
        self, hook: str, callback: Callable[..., Any] | None, argument: str
    ) -> list[calls.Implementation]:
        """Return who answers: the session's own callback, guarded like a plugin, or the plugins."""
        if callback is None:
            return self._plugins.implementations(hook)

        def answer(**given: Any) -> Any:
            return callback(given[argument])

        return [calls.Implementation("session", hook, answer, (argument,))]

    def _request(
        self, call: ToolCall, tool: Tool[..., Any], verdict: Verdict, preview: str
    ) -> ApprovalRequest:
        return ApprovalRequest(
            id=os.urandom(8).hex(),
            sequence=next(self._sequence),
            call=call,
            digest=digest_of(call.arguments),
            risk=tool.risk,
            effects=tool.effects,
            plugin=f"{tool.plugin} {tool.version}".strip(),
            reason=verdict.reason,
            preview=preview,
            cwd=str(self.session.cwd),
            steps=tool.composed_of,
            timeout_s=self._timeout_s,
        )

    def _preview(self, call: ToolCall, tool: Tool[..., Any], cancel: Cancel) -> Preview:
        return self._previews.preview(
            self._plugins.implementations("nanocoder_render"),
            self._plugins.report,
            {**self._about(call, tool), "result": None},
            cancel,
        )

    def _about(self, call: ToolCall, tool: Tool[..., Any]) -> dict[str, Any]:
        # A copy: what is asked about, and its digest, stay as they are whatever a plugin does.
        return {
            "call": evolve(call, arguments=copied(call.arguments)),
            "tool": tool,
            "session": self.session,
            "settings": self._plugins.settings,
        }


def in_time(
    approval: Callable[[], ApprovalAnswer | None],
    limit_s: float,
    cancel: Cancel,
    *,
    beside: bool,
) -> ApprovalAnswer | str | None:
    """Return what *approval* returns within *limit_s* seconds, else why there is none; 0: no limit.

    With *beside* it runs on a thread of its own, which is left behind when the time is over or
    *cancel* is set: whatever blocks there, the run goes on.
    """
    deadline = time.monotonic() + (limit_s or float("inf"))
    if not (beside and limit_s):
        answer = approval()
    else:
        found: list[ApprovalAnswer | None] = []
        over = threading.Event()

        def work() -> None:
            try:
                found.append(approval())
            finally:
                over.set()

        threading.Thread(target=work, name="nanocoder-approval", daemon=True).start()
        forget = cancel.on_set(over.set)
        over.wait(limit_s)
        forget()
        answer = found[0] if found else None
        if answer is None and not over.is_set():
            return _nobody(limit_s)
    return answer if time.monotonic() < deadline else _nobody(limit_s)


def _nobody(limit_s: float) -> str:
    return f"nobody answered within {limit_s:g} s"


def _refuse_unsound(answer: ApprovalAnswer) -> None:
    """Raise Denied for an answer that is not certainly a yes: every text is true, "no" as well."""
    for name, expected in ANSWER_FIELDS.items():
        value = getattr(answer, name)
        if not isinstance(value, expected):
            raise Denied(f"denied: the answer's {name} is of the type {type(value).__name__}")


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of *arguments*, which an answer must echo."""
    return hashlib.sha256(canonical_json(dict(arguments)).encode("utf-8", "replace")).hexdigest()


def verdict_data(verdict: Verdict) -> dict[str, str]:
    """Return a verdict as JSON-ready data."""
    return {
        "decision": str(verdict.decision),
        "reason": verdict.reason,
        "rule": verdict.rule,
        "source": verdict.source,
        "plugin": verdict.plugin,
    }


def request_data(request: ApprovalRequest) -> dict[str, Any]:
    """Return an approval request as JSON-ready data."""
    return {
        "id": request.id,
        "sequence": request.sequence,
        "tool": request.call.name,
        "arguments": request.call.arguments,
        "digest": request.digest,
        "risk": str(request.risk),
        "reason": request.reason,
        "preview": request.preview,
        "timeout_s": request.timeout_s,
    }


def _key(verdict: Verdict, call: ToolCall, tool: Tool[..., Any]) -> tuple[str, ...]:
    """Return what "always" is remembered by: the exact arguments where a process may start."""
    exact = not tool.effects or tool.effects & {Effect.EXECUTE, Effect.NETWORK}
    return (call.name, verdict.rule, verdict.reason, digest_of(call.arguments) if exact else "")


def _unjudged(call: ToolCall, tool: Tool[..., Any]) -> Verdict:
    if tool.is_read_only and tool.risk is Risk.SAFE and not _wants_consent(call, tool):
        return Verdict(Decision.ALLOW, "a safe, reading tool", source="default")
    if ANY_TOOL in tool.composed_of:
        return Verdict(Decision.ALLOW, "each of its calls is judged by itself", source="default")
    return Verdict(
        Decision.ASK,
        "no policy is installed, so everything but safe reading asks",
        source="default",
    )


def _wants_consent(call: ToolCall, tool: Tool[..., Any]) -> bool:
    if tool.confirm is None:
        return False
    try:
        return bool(tool.confirm(call.arguments))
    except Exception:  # noqa: BLE001 - a tool that cannot say whether to ask is asked about
        return True
