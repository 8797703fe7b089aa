"""The calls of clients, one after the other down the path of a session, and their approvals."""

import secrets
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from attrs import define, field
from nanocoder import ApprovalAnswer, ApprovalRequest, Cancel, Question, Session, ToolResult

MAX_WAITING: Final = 1_000
"""Limit of the unanswered questions in memory."""
MAX_PREVIEW_CHARS: Final = 100_000
"""Size limit of a preview for a client: its user cannot approve what they cannot see."""
TOO_LONG: Final = (
    f"what it would do has more than {MAX_PREVIEW_CHARS:,} characters, too many to be shown and"
    " approved by a client; make it in smaller calls"
)
ACTOR: Final = "the MCP client"
T = TypeVar("T")
Run = Callable[[str, Mapping[str, Any]], ToolResult]
"""Makes a call of a tool, and returns its result."""


class Client(Protocol):
    """The maker of the call that runs; the threads of the session call its methods."""

    def approve(self, request: ApprovalRequest) -> bool | None:
        """Return the decision of the client's user, or None without an answer."""

    def answer(self, question: Question) -> str | None:
        """Return the answer of the client's user to a tool, or None."""

    def give_up(self) -> None:
        """Abandon a pending question."""

    def stop(self) -> None:
        """End its work."""

    def show_progress(self, tool: str, text: str) -> None:
        """Report the progress of the call of *tool*."""

    def show_notice(self, text: str) -> None:
        """Show a notice to the client's user."""


@define(eq=False)
class Calls:
    """The calls of one server; its methods may be called from any thread.

    A client answers a question within the same request, or, if the protocol has no way back, with
    another request. *_waiting* has the approvals that such clients were asked for: the call is
    repeated with the answer. *_suspended* is the one call that resumes with the answer to its
    question; other calls wait for it for *patience_s* seconds, then it gets no answer.
    """

    session: Session | None = None
    patience_s: float = 30.0
    _lock: threading.Lock = field(factory=threading.Lock)
    _client: Client | None = None
    _waiting: dict[str, tuple[str, str]] = field(factory=dict)
    _suspended: tuple[str, Client] | None = None

    def work(self, job: Callable[[Run], T], client: Client, cancel: Cancel) -> T:
        """Do a *job* of *client*, whose calls take the path of the session; *cancel* stops it.

        Raises: Cancelled if it was cancelled before its turn came.
        """
        session = self.session
        if session is None:
            raise RuntimeError("there is no session")
        while not self._lock.acquire(timeout=self.patience_s):
            if self._suspended is not None:
                self._suspended[1].give_up()
        try:
            cancel.check()
            self._client = client
            forget = cancel.on_set(session.interrupt)
            try:
                return job(partial(_called, session, client, cancel))
            finally:
                forget()
                self._client = None
        finally:
            self._lock.release()

    def approve(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Return the client's answer to an approval request, or None."""
        if len(request.preview) > MAX_PREVIEW_CHARS:
            return ApprovalAnswer(
                request.id, request.digest, approved=False, reason=TOO_LONG, actor=ACTOR
            )
        agreed = None if self._client is None else self._client.approve(request)
        if agreed is None:
            return None
        return ApprovalAnswer(request.id, request.digest, approved=agreed, actor=ACTOR)

    def answer(self, question: Question) -> str | None:
        """Return the client's answer to a question of a tool, or None."""
        return None if self._client is None else self._client.answer(question)

    def remember(self, request: ApprovalRequest) -> str:
        """Return the one-time token that a client sends with its answer to *request*."""
        state = secrets.token_urlsafe(24)
        self._waiting[state] = (request.call.name, request.digest)
        while len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        return state

    def is_open(self, state: str) -> bool:
        """Return True if *state* belongs to a question about an approval."""
        return state in self._waiting

    def was_asked(self, state: str, request: ApprovalRequest) -> bool:
        """Return True if *state* belongs to a question about exactly this call."""
        return self._waiting.get(state) == (request.call.name, request.digest)

    def settle(self, state: str) -> None:
        """Remove an answered question."""
        self._waiting.pop(state, None)

    def suspend(self, client: Client) -> str:
        """Suspend the call of *client*, and return the token to send with its answer."""
        state = secrets.token_urlsafe(24)
        self._suspended = state, client
        return state

    def suspended(self, state: str) -> Client | None:
        """Return the maker of the call that waits for an answer with *state*."""
        if self._suspended is None or self._suspended[0] != state:
            return None
        return self._suspended[1]

    def forget(self, client: Client) -> None:
        """Remove the suspended call of *client* after its end."""
        if self._suspended is not None and self._suspended[1] is client:
            self._suspended = None

    def close(self) -> None:
        """Stop the suspended call: no request will answer it."""
        if self._suspended is not None:
            self._suspended[1].stop()


def _called(
    session: Session, client: Client, cancel: Cancel, name: str, arguments: Mapping[str, Any]
) -> ToolResult:
    """Take one call of *client* down the path of *session*."""
    cancel.check()
    for event in session.call(name, arguments):
        if event.kind == "call.progress":
            client.show_progress(name, str(event.data.get("text", "")))
        elif event.kind == "notice":
            client.show_notice(str(event.data.get("text", "")))
    if session.result is None:
        raise RuntimeError("the call came to no result")
    return session.result
