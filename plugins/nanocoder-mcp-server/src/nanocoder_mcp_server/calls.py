"""The calls of clients, one after the other down the path of a session, and their approvals."""

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import define, field
from nanocoder import ApprovalAnswer, ApprovalRequest, Session, ToolResult

MAX_WAITING: Final = 1_000
"""How many questions that nobody answered are remembered."""
MAX_PREVIEW_CHARS: Final = 100_000
"""How long a text a client is asked to show: what its person does not see, they cannot approve."""
TOO_LONG: Final = (
    f"what it would do has more than {MAX_PREVIEW_CHARS:,} characters, too many to be shown and"
    " approved by a client; make it in smaller calls"
)
ACTOR: Final = "the MCP client"
Question = Callable[[ApprovalRequest], bool | None]
Progress = Callable[[str], None]


@define(eq=False)
class Calls:
    """The calls of one server; its methods may be called from any thread.

    A client answers a question in the same call, or, where the protocol has no way back, with a
    second call that brings the answer. *_waiting* has the questions that such clients were asked.
    """

    session: Session | None = None
    _lock: threading.Lock = field(factory=threading.Lock)
    _ask: Question | None = None
    _waiting: dict[str, tuple[str, str]] = field(factory=dict)

    def call(
        self, name: str, arguments: Mapping[str, Any], ask: Question, progress: Progress
    ) -> ToolResult:
        """Take one call down the path of the session; *ask* asks the client for approval."""
        if self.session is None:
            raise RuntimeError("there is no session")
        with self._lock:
            self._ask = ask
            for event in self.session.call(name, arguments):
                if event.kind == "call.progress":
                    progress(str(event.data.get("text", "")))
            result = self.session.result
            if result is None:
                raise RuntimeError("the call came to no result")
            return result

    def interrupt(self) -> None:
        """Stop the call that runs."""
        if self.session is not None:
            self.session.interrupt()

    def approve(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Answer a question of the session with what the client says; without an answer, no."""
        if len(request.preview) > MAX_PREVIEW_CHARS:
            return ApprovalAnswer(
                request.id, request.digest, approved=False, reason=TOO_LONG, actor=ACTOR
            )
        agreed = None if self._ask is None else self._ask(request)
        if agreed is None:
            return None
        return ApprovalAnswer(request.id, request.digest, approved=agreed, actor=ACTOR)

    def remember(self, request: ApprovalRequest) -> str:
        """Return what a client has to send back with its answer to *request*; it counts once."""
        state = secrets.token_urlsafe(24)
        self._waiting[state] = (request.call.name, request.digest)
        while len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        return state

    def was_asked(self, state: str, request: ApprovalRequest) -> bool:
        """Tell whether *state* belongs to a question about exactly this call."""
        return self._waiting.get(state) == (request.call.name, request.digest)

    def settle(self, state: str) -> None:
        """Forget a question that was answered."""
        self._waiting.pop(state, None)
