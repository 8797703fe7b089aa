"""Approval: the verdict of the policies on a call, and a person's answer if it is "ask"."""

import itertools
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from nanocoder_schema import NanocoderError, ToolError, copy_arguments, evolve, wrong_field

from nanocoder.call.preview import DRY_RUN_RESULT, Preview, Previews, is_performed
from nanocoder.call.state import CallSession, CallState, consent_key, digest_of, scope_of_always
from nanocoder.call.worker import Ask, Emitted, Steps
from nanocoder.cancel import Cancel, run_with_deadline
from nanocoder.errors import ApprovalNeeded, Cancelled, Denied, TimedOut
from nanocoder.hooks import dispatch
from nanocoder.tools.outcome import request_data, verdict_data
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import (
    ApprovalAnswer,
    ApprovalRequest,
    Decision,
    Effect,
    Event,
    Question,
    ToolCall,
    ToolResult,
    Verdict,
)

Answering = Generator[Emitted, None, ApprovalAnswer]
SCOPES = ("session", "project", "user")
"""Scopes of the rules that a person grants; the policy that offered them stores the last two."""
CONSENT = ("always", "scope", "lasts_s", "uses")
"""Fields of an answer about later calls; the event of an approval repeats them."""
FOREVER = 1_000_000_000
"""More calls than a session makes: an approval for so many holds until its end."""
MAX_QUESTIONS = 10
"""The most questions about one call, edited or changed meanwhile, before it is refused."""


class Approvals:
    """Judge the calls of one session and ask for approval."""

    def __init__(self, session: CallSession) -> None:
        self._session = session
        self._plugins = session.plugins
        self._sequence = itertools.count(1)
        self._previews = Previews(session.plugins)
        self.dry_run_rows: list[dict[str, str]] = []
        # A question at a terminal waits without limit unless the configuration sets one.
        is_default = session.config.where("approval_timeout_s").layer == "default"
        waits = session.info.interactive and session.approve is None and is_default
        self._timeout_s = 0.0 if waits else session.config.core.approval_timeout_s

    def start_dry_run(self) -> list[dict[str, str]] | None:
        """Return the list that collects the calls of a new dry run; None for any other run."""
        self.dry_run_rows = []
        return self.dry_run_rows if self._session.info.dry_run else None

    def judge(
        self, call: ToolCall, tool: Tool[..., Any], session: SessionInfo | None = None
    ) -> dispatch.Judgement:
        """Return the verdict of all policies on *call*, as if in *session* if it is given.

        Without any policy, every call but a safe reading one asks.
        """
        policies = self._plugins.implementations("nanocoder_before_execute")
        context = self._session.hook_context(tool=tool, session=session or self._session.info)
        return dispatch.judge_call(policies, self._plugins.report, context, call)

    def authorize(self, state: CallState) -> Steps:
        """Check and judge a call, and get the approval that the verdict demands.

        An edit approves the edited call, which is checked and judged again, and put to the person
        again only for a new rule or reason. A call that its own preview finds impossible, or that
        a dry run only shows, ends here with its result.
        Raises: Denied, ApprovalNeeded, BadArguments, Cancelled.
        """
        state.arguments = state.tool.signature.check(state.call.arguments)
        yield state.event("call.validated")
        state.enter("policy")
        answered: Verdict | None = None
        for _ in range(MAX_QUESTIONS):
            # Judged again each time: the mode, or the target of a path, may have changed.
            judgement = self.judge(state.call, state.tool)
            state.verdict = judgement.verdict
            yield state.event("call.decided", **verdict_data(state.verdict))
            _refuse_denied(state.verdict)
            if plugin := judgement.rewritten_by:
                new = judgement.call.arguments
                yield state.change("call.rewritten", f"the policy {plugin!r}", new, plugin=plugin)
            if state.verdict.sandbox:
                self._require_sandbox(state)
            is_shown = self._session.info.dry_run and not is_performed(state.tool, state.call)
            if not is_shown and self._needs_no_question(state, answered):
                self._count_use(state)
                return
            preview = self._preview(state)
            # The obstacle may reveal what a rule guards: then the person decides.
            if preview.obstacle is not None and not state.verdict.rule:
                yield state.fail(preview.obstacle)
                return
            if is_shown:
                yield self._show(state, preview.text)
                return
            answer = yield from self._answers(state, preview)
            if answer.arguments is not None:
                answered = state.verdict
                who = f"a person {answer.reason}".strip()
                yield state.change("call.edited", who, arguments=answer.arguments)
            elif self._is_still_valid(state):
                state.is_agreed = True
                granted = state.verdict.grants if answer.scope else ()
                consent = {key: getattr(answer, key) for key in CONSENT}
                yield state.event("call.approved", **consent, grants=granted, actors=state.actors)
                return
        raise Denied(f"denied: you were asked {MAX_QUESTIONS} times; each edit needed an approval")

    def _needs_no_question(self, state: CallState, answered: Verdict | None) -> bool:
        """Return True if a call needs no question, and record whether its steps need none either.

        A rule for some paths does not cover the commands among the steps, and an approval by the
        mode was judged by no policy: such approvals do not cover the steps.
        """
        verdict = state.verdict
        if verdict.persons > 1:  # each of them has to see exactly this call
            return False
        if verdict.decision is Decision.ALLOW or state.call.typed:
            state.is_agreed = state.is_covered or verdict.covers_steps
            return True
        # After an edit, the person has just answered the same question.
        state.is_agreed = (
            (state.is_covered and not verdict.asks_inside_composed)
            or (answered is not None and _question_of(answered) == _question_of(verdict))
            or consent_key(verdict, state.call, state.tool) in self._session.remembered_consent
            or (state.call.name, *verdict.grants) in self._session.remembered_consent
        )
        return state.is_agreed

    def _count_use(self, state: CallState) -> None:
        """Count a call that needed no question by a grant for some calls, and end its last one."""
        consent, key = self._session.remembered_consent, (state.call.name, *state.verdict.grants)
        if (remaining := consent.pop(key, 0) - 1) > 0:
            consent[key] = remaining

    def _preview(self, state: CallState) -> Preview:
        # A copy: a plugin must not change the call that is shown, nor its digest.
        call = evolve(state.call, arguments=copy_arguments(state.call.arguments))
        context = self._session.hook_context(call=call, tool=state.tool, result=None)
        snapshot = self._session.open_workspace().begin_preview()
        preview = self._previews.preview(context, snapshot, state.cancel)
        state.snapshot = preview.snapshot or state.snapshot
        return preview

    def _show(self, state: CallState, preview: str) -> Event:
        """End a call of a dry run: show it to the person and do not run it."""
        verdict, name = state.verdict, state.call.name
        reason = verdict.reason if verdict.decision is Decision.ASK else ""
        row = {"id": state.call.id, "tool": name, "preview": preview.rstrip("\n")}
        self.dry_run_rows.append({**row, "approval": reason})
        state.enter("output")
        state.result = ToolResult(DRY_RUN_RESULT, title=name, metadata={"dry_run": True})
        after = f" after your approval ({reason})" if reason else ""
        would = f"dry run: {name} would do this{after}"
        return state.event("notice", text=f"{would}:\n{row['preview']}")

    def _require_sandbox(self, state: CallState) -> None:
        """Raise ToolError for a call that needs a sandbox if there is none."""
        effects, problem = state.tool.effects, ""
        if Effect.EXECUTE in effects and not self._session.info.find_sandbox():
            problem = "this session has none (`sandbox` in the configuration)"
        elif not effects or (Effect.NETWORK in effects and Effect.EXECUTE not in effects):
            problem = "it works in nanocoder's own process"
        if problem:
            message = f"{state.tool.name} is allowed in a sandbox only, and {problem}"
            raise ToolError(message, error_class="sandbox_unavailable")

    def _answers(self, state: CallState, preview: Preview) -> Answering:
        """Ask as many people as the verdict demands and return the last answer.

        After an edit it returns early, because all of them are asked about the edited call.
        """
        state.actors, persons = [], state.verdict.persons
        for count in itertools.count(1):
            answer = yield from self._answer(state, preview)
            state.actors += filter(None, [answer.actor.strip()])
            # "Ann" and "ann" are one person.
            if persons > 1 and len(set(map(str.casefold, state.actors))) < count:
                raise Denied(
                    f"denied: {persons} different people have to approve this call, each by a name"
                    f" of their own; approved by {', '.join(state.actors) or 'no name'}"
                )
            if answer.arguments is not None or count >= persons:
                break
        return answer

    def _answer(self, state: CallState, preview: Preview) -> Answering:
        """Ask one person, and return their answer if it approves the call."""
        request, verdict = self._request(state, preview.text), state.verdict
        answer: ApprovalAnswer | str | None
        early, state.early = state.early, None
        if early and evolve(early[0], id=request.id, sequence=request.sequence) == request:
            request, answer = early
        else:
            group = self._group(state)
            request = evolve(request, group=tuple(later for _, later in group))
            event = state.event("call.approval_requested", **request_data(request))
            question, began = Ask(request, event), time.perf_counter()
            yield question
            state.asked_s += time.perf_counter() - began
            answer = question.answer
            _answer_early(group, answer)
        if isinstance(answer, str):
            raise Denied(f"denied: {answer}")
        if not isinstance(answer, ApprovalAnswer):
            text = f"approval needed: {state.call.name} was not run, because no person can answer"
            raise ApprovalNeeded(f"{text} ({verdict.reason})", data=verdict_data(verdict))
        # Computed again: a plugin that changed the request has not changed the call that runs.
        if (answer.id, answer.digest) != (request.id, digest_of(state.call.arguments)):
            raise Denied("denied: the answer belongs to another request")
        # A string in place of a bool is no yes: "no" is true, too.
        if problem := wrong_field(answer):
            raise Denied(f"denied: {problem}")
        if not answer.approved:
            raise Denied(f"denied by the user: {answer.reason}".removesuffix(": "))
        is_offered = verdict.grants and answer.scope in _scopes(answer) and answer.lasts_s >= 0
        # Rules are for the original call; the policy has not judged the edited one.
        if answer.scope and (answer.arguments is not None or answer.uses < 0 or not is_offered):
            raise Denied(f"denied: consent for the scope {answer.scope!r} was not offered")
        if answer.scope == "session":
            key = state.call.name, *verdict.grants
            self._session.remembered_consent[key] = answer.uses or FOREVER
        if answer.always and verdict.persons == 1:
            # Approval covers the edited arguments, not the original ones.
            arguments = state.call.arguments if answer.arguments is None else answer.arguments
            call = evolve(state.call, arguments=copy_arguments(arguments))
            self._session.remembered_consent[consent_key(verdict, call, state.tool)] = FOREVER
        return answer

    def _group(self, state: CallState) -> list[tuple[CallState, ApprovalRequest]]:
        """Return the later calls of the turn that would ask now, with their requests."""
        group, session = list[tuple[CallState, ApprovalRequest]](), self._session
        if state.verdict.persons > 1 or not (session.approve or session.info.interactive):
            return group
        for later, trial in state.foresee():
            # Its own question has no group: the calls after it are already in this one.
            later.foresee = tuple
            with suppress(NanocoderError):
                trial.arguments = trial.tool.signature.check(trial.call.arguments)
                # Policies that count calls count each one when it runs.
                call, as_if = evolve(trial.call, edited=True), evolve(session.info, is_trial=True)
                judgement = self.judge(call, trial.tool, as_if)
                trial.verdict = judgement.verdict
                _refuse_denied(trial.verdict)
                is_plain = trial.verdict.persons == 1 and not judgement.rewritten_by
                if is_plain and not self._needs_no_question(trial, None):
                    preview = self._preview(trial)
                    if preview.obstacle is None:
                        group.append((later, self._request(trial, preview.text)))
        return group

    def _is_still_valid(self, state: CallState) -> bool:
        """Return True if a yes still answers the question; raises Denied if the call is denied now.

        While the question was open the mode may have changed, or a path may have become a link.
        """
        # Marked as seen by a person: policies that count calls have counted it.
        judgement = self.judge(evolve(state.call, edited=True), state.tool)
        verdict = judgement.verdict
        _refuse_denied(verdict)
        before = state.verdict
        is_more = verdict.access != before.access or verdict.persons > before.persons
        is_same = (verdict.rule, verdict.source) == (before.rule, before.source)
        if judgement.rewritten_by or is_more:
            return False
        return is_same or verdict.decision is Decision.ALLOW

    def ask(
        self, request: ApprovalRequest | Question, cancel: Cancel
    ) -> ApprovalAnswer | str | None:
        """Put a request to the session's own callback, or to the plugins; None without an answer.

        An answer after the request's timeout does not count: a text in its place says so.
        """
        session, report = self._session, self._plugins.report
        arguments = session.hook_context(cancelled=cancel, question=request, request=request)
        if isinstance(request, Question):
            if session.ask is None and not session.info.interactive:
                return None
            hooks = self._implementations("nanocoder_ask", "question", session.ask)
            return dispatch.choose(hooks, report, arguments, str)
        hooks = self._implementations("nanocoder_approve", "request", session.approve)
        choose = partial(dispatch.choose, hooks, report, arguments, ApprovalAnswer)
        limit_s, began = request.timeout_s, time.monotonic()
        # A screen needs this thread for its signals and observes the timeout itself.
        is_screen = session.approve is None or not limit_s
        try:
            answer = choose() if is_screen else run_with_deadline(choose, limit_s, cancel)
        except Cancelled:
            return None
        except TimedOut:
            answer = None
        is_late = limit_s and time.monotonic() >= began + limit_s
        return f"no answer came within {limit_s:g} s" if is_late else answer

    def _implementations(
        self, hook: str, argument: str, callback: Callable[[Any], Any] | None
    ) -> list[dispatch.Implementation]:
        """Return the session's own callback, guarded like a plugin, or else the plugins."""
        if callback is None:
            return self._plugins.implementations(hook)

        own = partial(dispatch.Implementation, "session", hook, parameters=(argument,))
        return [own(lambda **named: callback(named[argument]))]

    def _request(self, state: CallState, preview: str) -> ApprovalRequest:
        call, tool, verdict = state.call, state.tool, state.verdict
        reason = verdict.reason
        if state.changed_by and not call.edited:
            reason += f"; {state.changed_by} changed the arguments"
        if verdict.persons > 1:
            reason += f"; {verdict.persons} people have to approve it"
        return ApprovalRequest(
            id=os.urandom(8).hex(),
            sequence=next(self._sequence),
            call=call,
            digest=digest_of(call.arguments),
            risk=tool.risk,
            effects=tool.effects,
            plugin=f"{tool.plugin} {tool.version}".strip(),
            reason=reason,
            preview=preview,
            cwd=str(self._session.info.cwd),
            steps=tool.composed_of,
            timeout_s=self._timeout_s,
            always=scope_of_always(verdict, call, tool),
            grants=verdict.grants,
            approved_by=tuple(state.actors),
            access=verdict.access,
        )


def _answer_early(group: Sequence[tuple[CallState, ApprovalRequest]], answer: Any) -> None:
    """Store the answers to a group's requests with their calls."""
    is_sound = isinstance(answer, ApprovalAnswer) and not wrong_field(answer)
    answers = answer.group if is_sound else ()
    by_id = {each.id: each for each in answers if isinstance(each, ApprovalAnswer)}
    for later, request in group:
        if request.id in by_id:
            later.early = request, by_id[request.id]


def _scopes(answer: ApprovalAnswer) -> tuple[str, ...]:
    """Return the scopes that an answer may have: only a session counts uses, and it has no end."""
    return SCOPES[1:] if answer.lasts_s else SCOPES[:1] if answer.uses else SCOPES


def _refuse_denied(verdict: Verdict) -> None:
    if verdict.decision is Decision.DENY:
        raise Denied(f"denied: {verdict.reason}", data=verdict_data(verdict))


def _question_of(verdict: Verdict) -> tuple[str, str]:
    """Return the key of a question: one with the same key after an edit is not asked again."""
    return verdict.rule, verdict.reason
