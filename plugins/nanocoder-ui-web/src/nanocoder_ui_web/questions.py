"""Questions to the user, shown in every browser; the first answer wins."""

import threading
from collections.abc import Mapping
from typing import Any, Final

from attrs import define
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Cancel,
    Question,
    SessionInfo,
    UsageError,
    hookimpl,
)

from nanocoder_ui_web.access import BROWSER
from nanocoder_ui_web.entries import approval_entry, may_be_exact, question_entry
from nanocoder_ui_web.feed import Feed

SAME_BROWSER: Final = (
    "this browser has approved the call already; another person has to, in a browser of their own"
    " (the terminal makes a link for it)"
)
LATE: Final = "this question is not open any more: it was answered, took too long, or was stopped"


class LateError(Exception):
    """The question was answered before, or is not open any more."""


@define(eq=False)
class _Open:
    """A pending question; *over* is set when there is an answer, or none will come.

    Browsers that are *barred* can only refuse.
    """

    over: Cancel
    barred: frozenset[int] = frozenset()
    answer: Mapping[str, Any] | None = None


class Questions:
    """The questions that are open now."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._count = 0
        self._approvers: dict[tuple[str, str], frozenset[int]] = {}

    def approve(
        self, request: ApprovalRequest, session: SessionInfo, cancelled: Cancel
    ) -> ApprovalAnswer | None:
        """Ask whether a call may run; None without an answer in time.

        Where a call needs several people, each of them approves it in a browser of their own.
        """
        entry, call = approval_entry(request, session), (request.call.id, request.digest)
        before = self._approvers.get(call, frozenset()) if request.approved_by else frozenset()
        answer = self._put(request.id, entry, request.timeout_s, cancelled, before)
        if answer is None:
            return None
        self._approvers[call] = before | {answer[BROWSER]}
        arguments = answer.get("arguments")
        is_as_seen = arguments is None
        return ApprovalAnswer(
            id=request.id,
            digest=str(answer.get("digest", "")),
            approved=answer.get("approved") is True,
            reason=str(answer.get("reason") or ""),
            arguments=arguments,
            # As in the terminal: never wider than the offered rules, or the call that was shown.
            always=is_as_seen and answer.get("always") is True and may_be_exact(request),
            scope=str(answer.get("scope") or "") if is_as_seen else "",
            uses=answer.get("uses") or 0,
            actor=str(answer.get("actor") or ""),
        )

    def ask(self, question: Question, cancelled: Cancel) -> str | None:
        """Put a tool's question; None without an answer in time."""
        with self._lock:
            self._count += 1
            name = f"question-{self._count}"
        answer = self._put(name, question_entry(question), question.timeout_s, cancelled)
        text = answer.get("text") if answer is not None else None
        return text if isinstance(text, str) else None

    def answer(self, name: str, values: Mapping[str, Any]) -> None:
        """Take the answer of a browser to the question *name*; raises LateError, UsageError."""
        with self._lock:
            question = self._open.get(name)
            if question is None:
                raise LateError(LATE)
            if values[BROWSER] in question.barred and values.get("approved") is True:
                raise UsageError(SAME_BROWSER)
            del self._open[name]
            question.answer = values
        question.over.set("answered")

    def _put(
        self,
        name: str,
        entry: Mapping[str, Any],
        timeout_s: float,
        cancelled: Cancel,
        barred: frozenset[int] = frozenset(),
    ) -> Mapping[str, Any] | None:
        """Show a question until it is answered; return the answer."""
        question = _Open(Cancel(cancelled), barred)
        with self._lock:
            self._open[name] = question
        number = self._feed.add("question", {"question": name, **entry})
        question.over.wait(timeout_s or None)
        question.over.close()
        with self._lock:
            self._open.pop(name, None)
        self._feed.forget(number)
        self._feed.add("closed", {"question": name, "outcome": _outcome(question.answer)})
        return question.answer


def _outcome(answer: Mapping[str, Any] | None) -> str:
    if answer is None:
        return "no answer"
    if "approved" not in answer:
        return "answered"
    if answer["approved"] is not True:
        return "refused"
    return "approved as edited" if answer.get("arguments") is not None else "approved"


class Answers:
    """The plugin that asks the browsers of one session; it is added before the session opens."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    @hookimpl(rank=10)
    def nanocoder_approve(
        self, request: ApprovalRequest, session: SessionInfo, cancelled: Cancel
    ) -> ApprovalAnswer | None:
        """Ask the browsers whether a call may run."""
        return self._questions.approve(request, session, cancelled)

    @hookimpl(rank=10)
    def nanocoder_ask(self, question: Question, cancelled: Cancel) -> str | None:
        """Put a tool's question to the browsers."""
        return self._questions.ask(question, cancelled)
