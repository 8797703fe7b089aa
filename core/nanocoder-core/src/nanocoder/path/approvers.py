"""Who answers for the person: the session's own callback, or the plugins, in time."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from nanocoder.cancel import Cancel
from nanocoder.hooks import styles
from nanocoder.plugins import Plugins
from nanocoder.tools.tool import SessionInfo
from nanocoder.values import ApprovalAnswer, ApprovalRequest, Question

Approver = Callable[[ApprovalRequest], ApprovalAnswer | None]
Asker = Callable[[Question], str | None]


class Approvers:
    """Puts requests and questions to whoever answers in one session."""

    def __init__(
        self, plugins: Plugins, session: SessionInfo, approve: Approver | None, ask: Asker | None
    ) -> None:
        self._plugins = plugins
        self._session = session
        self._approve = approve
        self._ask = ask

    def ask(
        self, request: ApprovalRequest | Question, cancel: Cancel
    ) -> ApprovalAnswer | str | None:
        """Put a request to whoever answers for the person; None when nobody does.

        An answer that comes after the request's time counts no more: a text says so.
        """
        settings = self._plugins.settings
        about = {"session": self._session, "settings": settings, "cancelled": cancel}
        if isinstance(request, Question):
            return self._inquire(request, about)

        def approval() -> ApprovalAnswer | None:
            return styles.choose(
                self._implementations("nanocoder_approve", self._approve, "request"),
                self._plugins.report,
                {"request": request, **about},
                ApprovalAnswer,
            )

        # A screen needs this thread for its signals and keeps the time itself.
        beside = self._approve is not None
        return in_time(approval, request.timeout_s, cancel, beside=beside)

    def _inquire(self, question: Question, about: Mapping[str, Any]) -> str | None:
        if self._ask is None and not self._session.interactive:
            return None
        return styles.choose(
            self._implementations("nanocoder_ask", self._ask, "question"),
            self._plugins.report,
            {"question": question, **about},
            str,
        )

    def _implementations(
        self, hook: str, callback: Callable[..., Any] | None, argument: str
    ) -> list[styles.Implementation]:
        """Return who answers: the session's own callback, guarded like a plugin, or the plugins."""
        if callback is None:
            return self._plugins.implementations(hook)

        def answer(**given: Any) -> Any:
            return callback(given[argument])

        return [styles.Implementation("session", hook, answer, (argument,))]


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
        answers: list[ApprovalAnswer | None] = []
        over = threading.Event()

        def work() -> None:
            try:
                answers.append(approval())
            finally:
                over.set()

        threading.Thread(target=work, name="nanocoder-approval", daemon=True).start()
        forget = cancel.on_set(over.set)
        over.wait(limit_s)
        forget()
        answer = answers[0] if answers else None
        if answer is None and not over.is_set():
            return _nobody(limit_s)
    return answer if time.monotonic() < deadline else _nobody(limit_s)


def _nobody(limit_s: float) -> str:
    return f"nobody answered within {limit_s:g} s"
