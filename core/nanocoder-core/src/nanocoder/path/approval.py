"""Consent: what the policies say of a call, and what a person answers when they say "ask"."""

import hashlib
import itertools
import os
import time
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, frozen
from nanocoder_schema import Shown, Value, canonical_json, copy_arguments

from nanocoder.cancel import Cancel
from nanocoder.errors import ApprovalNeeded, Denied, ToolError
from nanocoder.hooks import styles
from nanocoder.path.approvers import Approver, Approvers, Asker
from nanocoder.path.dry_run import foretold, is_performed
from nanocoder.path.preview import Preview, Previews
from nanocoder.path.stages import Watch
from nanocoder.plugins import Plugins
from nanocoder.tools.tool import ANY_TOOL, SessionInfo, Tool
from nanocoder.values import (
    ApprovalAnswer,
    ApprovalRequest,
    Decision,
    Effect,
    Event,
    Question,
    Risk,
    ToolCall,
    Verdict,
    wrong_field,
)

if TYPE_CHECKING:
    from nanocoder_files import Snapshot

Check = Callable[[Mapping[str, Any]], dict[str, Any]]

APPROVAL_TIMEOUT_S = 300.0
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
class Authorized(Value):
    """A call that may run: its frozen form, and the checked arguments that its handler gets.

    *consented* tells whether that holds for the steps of a composed call, too: a person was asked
    and saw them, or wrote a rule about the tool as a whole. A rule for some paths says nothing of
    the commands among the steps, and what the mode allows nobody has looked at. With an *obstacle*
    the call cannot work: nobody was asked, and it ends with that error. *snapshot* is of the files
    that a person saw a preview of. With *foretold*, what it would do, the call is not done.
    """

    call: ToolCall
    arguments: dict[str, Any]
    consented: bool = True
    obstacle: ToolError | None = None
    snapshot: "Snapshot | None" = None
    foretold: Mapping[str, str] | None = None


class Approvals:
    """Judges calls and asks for approval; one for each session.

    Consent that was kept lives as long as it does.
    """

    def __init__(
        self,
        plugins: Plugins,
        session: SessionInfo,
        approve: Approver | None = None,
        ask: Asker | None = None,
        remembered: set[tuple[str, ...]] | None = None,
        approval_timeout_s: float = APPROVAL_TIMEOUT_S,
    ) -> None:
        """Judge for *session*; *kept* is the consent that it shares with another one."""
        self.session = session
        self._plugins = plugins
        self._approvers = Approvers(plugins, session, approve, ask)
        self._sequence = itertools.count(1)
        self._timeout_s = approval_timeout_s
        self._previews = Previews()
        self.foretold: list[dict[str, str]] = []
        self.remembered: set[tuple[str, ...]] = set() if remembered is None else remembered

    def fresh(self) -> list[dict[str, str]] | None:
        """Return the list that the calls of a new dry run are added to; None of any other run."""
        self.foretold = []
        return self.foretold if self.session.dry_run else None

    def verdict(self, call: ToolCall, tool: Tool[..., Any]) -> Verdict:
        """Return the strictest verdict of all policies; without any, all but safe reading asks."""
        return styles.judge(*self._judging(call, tool)) or _unjudged(call, tool)

    def verdicts(self, call: ToolCall, tool: Tool[..., Any]) -> list[Verdict]:
        """Return every policy's verdict, for explaining."""
        return styles.verdicts(*self._judging(call, tool)) or [_unjudged(call, tool)]

    def _judging(self, call: ToolCall, tool: Tool[..., Any]) -> tuple[Any, ...]:
        policies = self._plugins.implementations("nanocoder_before_execute")
        return policies, self._plugins.report, self._about(call, tool)

    def authorize(
        self,
        call: ToolCall,
        tool: Tool[..., Any],
        check: Check,
        watch: Watch,
        cancel: Cancel,
        *,
        consented: bool = False,
    ) -> Generator[Event | Ask, None, Authorized]:
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
        snapshot: Snapshot | None = None
        for _ in range(MAX_QUESTIONS):
            verdict = self.verdict(call, tool)
            yield Event("call.decided", verdict_data(verdict), call.id)
            if verdict.decision is Decision.DENY:
                raise Denied(f"denied: {verdict.reason}", data=verdict_data(verdict))
            if self.session.dry_run and not is_performed(tool, call.arguments):
                return self._foretold(call, tool, arguments, verdict, cancel)
            asked = (verdict.rule, verdict.reason)
            if verdict.decision is Decision.ALLOW:
                return Authorized(call, arguments, consented or verdict.covers_steps)
            if (consented and not verdict.asks_inside_composed) or asked == agreed:
                return Authorized(call, arguments, snapshot=snapshot)
            if _key(verdict, call, tool) in self.remembered:
                return Authorized(call, arguments)
            preview = self._preview(call, tool, cancel)
            if preview.obstacle is not None and not verdict.rule:
                return Authorized(call, arguments, obstacle=preview.obstacle)
            snapshot = preview.snapshot
            request = self._request(call, tool, verdict, preview.text)
            answer = yield from self._answered(request, verdict, tool, watch)
            if answer.arguments is None:
                if not self._still_holds(verdict, call, tool):
                    continue
                yield Event("call.approved", {"always": answer.always}, call.id)
                return Authorized(call, arguments, snapshot=snapshot)
            agreed = asked
            call = evolve(call, arguments=copy_arguments(answer.arguments), edited=True)
            arguments = check(call.arguments)
            yield Event("call.edited", {"arguments": call.arguments}, call.id)
        raise Denied(
            f"denied: you were asked {MAX_QUESTIONS} times and each edit needed another approval"
        )

    def _foretold(
        self,
        call: ToolCall,
        tool: Tool[..., Any],
        arguments: dict[str, Any],
        verdict: Verdict,
        cancel: Cancel,
    ) -> Authorized:
        preview = self._preview(call, tool, cancel)
        if preview.obstacle is not None and not verdict.rule:
            return Authorized(call, arguments, obstacle=preview.obstacle)
        row = foretold(call, verdict, preview.text)
        self.foretold.append(row)
        return Authorized(call, arguments, foretold=row)

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
            # Consent covers the edited arguments, not the original ones.
            edited = (
                call.arguments if answer.arguments is None else copy_arguments(answer.arguments)
            )
            self.remembered.add(_key(verdict, evolve(call, arguments=edited), tool))
        return answer

    def ask(
        self, request: ApprovalRequest | Question, cancel: Cancel
    ) -> ApprovalAnswer | str | None:
        """Put a request to whoever answers for the person; None when nobody does."""
        return self._approvers.ask(request, cancel)

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
            always=_scope_of_always(verdict, call, tool),
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
            "call": evolve(call, arguments=copy_arguments(call.arguments)),
            "tool": tool,
            "session": self.session,
            "settings": self._plugins.settings,
        }


def _refuse_unsound(answer: ApprovalAnswer) -> None:
    """Raise Denied for an answer that is not certainly a yes: every text is true, "no" as well."""
    if problem := wrong_field(answer):
        raise Denied(f"denied: {problem}")


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
        "always": request.always,
    }


def _key(verdict: Verdict, call: ToolCall, tool: Tool[..., Any]) -> tuple[str, ...]:
    """Return what "always" is remembered by."""
    exact = digest_of(call.arguments) if _is_exact(call, tool) else ""
    return (call.name, verdict.rule, verdict.reason, exact)


def _is_exact(call: ToolCall, tool: Tool[..., Any]) -> bool:
    """Tell whether "always" is for the very same arguments: where a person has to see them."""
    return (
        not tool.effects
        or bool(tool.effects & {Effect.EXECUTE, Effect.NETWORK})
        or tool.risk is Risk.DESTRUCTIVE
        or _wants_consent(call, tool)
    )


def _scope_of_always(verdict: Verdict, call: ToolCall, tool: Tool[..., Any]) -> str:
    if _is_exact(call, tool):
        return f"{call.name} with exactly these arguments, in this session"
    if verdict.rule:
        return f"every {call.name} call that {verdict.rule!r} asks about, in this session"
    return f"every {call.name} call in this session, for any file"


def _unjudged(call: ToolCall, tool: Tool[..., Any]) -> Verdict:
    if tool.is_read_only and tool.risk is Risk.SAFE and not _wants_consent(call, tool):
        return Verdict(Decision.ALLOW, "a safe tool that only reads", source="default")
    if ANY_TOOL in tool.composed_of:
        return Verdict(Decision.ALLOW, "each call inside it is judged on its own", source="default")
    return Verdict(
        Decision.ASK,
        "no policy is installed, so everything except safe reading needs your approval",
        source="default",
    )


def _wants_consent(call: ToolCall, tool: Tool[..., Any]) -> bool:
    if tool.confirm is None:
        return False
    try:
        return bool(tool.confirm(call.arguments))
    except Exception:  # noqa: BLE001 - a tool that cannot say whether to ask is asked about
        return True
