"""One request of a client: its work runs in a thread, and asks the client if necessary.

Clients of earlier protocol revisions answer during the request. Those of later ones get the
question as the result, and send the answer with another request, for which the work waits.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

import anyio.to_thread
import mcp_types
from attrs import field, frozen
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from nanocoder import ApprovalRequest, Cancel, Question, ToolResult

from nanocoder_mcp_server.calls import Calls, Run
from nanocoder_mcp_server.logs import Logs, outdated_allowed
from nanocoder_mcp_server.questions import (
    CAN_ASK,
    QUESTION,
    Request,
    answer_of,
    approval_of,
    is_approval,
    missing_for,
    requests_of,
)

T = TypeVar("T")
ANSWER_S: Final = 300.0
"""Timeout of a tool for the request with its answer, in seconds."""


@frozen(eq=False)
class Pending:
    """Questions that later requests answer, by their names there; the tool waits for *reply*."""

    requests: Mapping[str, Request]
    responses: dict[str, Any] = field(factory=dict)
    reply: "concurrent.futures.Future[None]" = field(factory=concurrent.futures.Future)

    @property
    def unanswered(self) -> dict[str, Request]:
        """The questions without an answer."""
        return {name: self.requests[name] for name in self.requests if name not in self.responses}

    def take(self, responses: dict[str, Any]) -> None:
        """Move the answers to these questions out of a request's *responses*."""
        for name in self.unanswered:
            response = responses.pop(name, None)
            if response is not None:
                self.responses[name] = response


class Asking(Generic[T]):
    """One request of one client, and how the client is asked about its calls.

    With *many* it may make more than one call.
    """

    def __init__(
        self, calls: Calls, logs: Logs, ctx: Any, params: Any, *, many: bool = False
    ) -> None:
        self._calls = calls
        self._logs = logs
        self._ctx = ctx
        self._params = params
        self._many = many
        self._needed: ApprovalRequest | None = None
        self._lacking: mcp_types.ClientCapabilities | None = None
        self._cancel = Cancel()
        self._progress = 0
        self._loop = asyncio.get_running_loop()
        self._is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._brought = dict(getattr(params, "input_responses", None) or {})
        self._questions: asyncio.Queue[Pending] = asyncio.Queue()
        self._pending: Pending | None = None
        self._is_abandoned = False
        self._work: asyncio.Task[T] | None = None

    async def result(self, job: Callable[[Run], T]) -> T | mcp_types.InputRequiredResult:
        """Do a job; return its result, or a question that the client has to answer first."""
        work = partial(self._calls.work, job, self, self._cancel)
        thread = anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        self._work = asyncio.create_task(thread)
        return await self._outcome(self._work)

    def is_about(self, params: Any) -> bool:
        """Return True if *params* ask for the same as this request."""
        return _subject(params) == _subject(self._params)

    async def resumed(self, ctx: Any, params: Any) -> T | mcp_types.InputRequiredResult:
        """Resume with the answer in a later request; ask again if it has none."""
        pending = self._pending
        if pending is None or self._work is None:
            raise RuntimeError("it waits for no answer")
        self._ctx, self._params = ctx, params
        self._brought = dict(params.input_responses or {})
        pending.take(self._brought)
        if pending.unanswered and not pending.reply.done():
            return self._required(pending)
        with suppress(concurrent.futures.InvalidStateError):  # it was too late
            pending.reply.set_result(None)
        return await self._outcome(self._work)

    def give_up(self) -> None:
        """Abandon the pending question, and all later ones."""
        self._is_abandoned = True
        if self._pending is not None:
            self._pending.reply.cancel()

    def stop(self) -> None:
        """End the work."""
        self._cancel.set()

    async def _outcome(self, work: "asyncio.Task[T]") -> T | mcp_types.InputRequiredResult:
        question = asyncio.create_task(self._questions.get())
        try:
            await asyncio.wait([work, question], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._cancel.set()
            raise
        finally:
            question.cancel()
            self._calls.settle(self._state)
        if not work.done():
            return self._required(question.result())
        self._calls.forget(self)
        if self._needed is not None:
            state = self._calls.remember(self._needed)
            return _input_required({QUESTION: approval_of(self._needed)}, state)
        result = work.result()
        if isinstance(result, ToolResult) and result.is_error and self._lacking is not None:
            raise _lacks(self._lacking)
        return result

    def _required(self, pending: Pending) -> mcp_types.InputRequiredResult:
        return _input_required(pending.unanswered, self._calls.suspend(self))

    def approve(self, request: ApprovalRequest) -> bool | None:
        """Return the client's answer, or None."""
        if not self._has(CAN_ASK):
            return None
        if not self._is_modern:
            response = self._put(approval_of(request))
            return None if response is None else is_approval(response)
        if self._many:  # asked again with each answer, they would never come to an end
            return None
        if self._calls.was_asked(self._state, request):
            response = self._brought.pop(QUESTION, None)
            return is_approval(response) if response is not None else None
        self._needed = request
        return None

    def answer(self, question: Question) -> str | None:
        """Put a tool's question to the client, its person or its model; None without an answer."""
        requests = requests_of(question, self._has)
        if self._is_modern:
            self._lacking = missing_for(question, self._has) or self._lacking
        if not requests:
            return None
        if not self._is_modern:
            responses = {name: self._put(request) for name, request in requests.items()}
            responses = {name: each for name, each in responses.items() if each is not None}
            return answer_of(question, requests, responses)
        pending = Pending(requests)
        pending.take(self._brought)
        if pending.unanswered:
            self._put_later(pending)
        return answer_of(question, requests, pending.responses)

    def show_notice(self, text: str) -> None:
        """Log a notice for the user."""
        self._log("warning", "nanocoder", text)

    def show_progress(self, tool: str, text: str) -> None:
        """Log the *text* of *tool*, and notify a client that requested progress.

        Each notification has a higher number than the last.
        """
        self._log("info", tool, text)
        self._progress += 1
        report = self._ctx.session.report_progress
        # A client that does not listen any more is no reason to stop the call.
        with suppress(Exception):
            self._wait_for(report(float(self._progress), message=text))

    def _log(self, level: Any, tool: str, text: str) -> None:
        if not self._logs.wants(self._ctx, level):
            return
        with outdated_allowed(), suppress(Exception):  # as with progress
            send = self._ctx.session.send_log_message
            self._wait_for(send(level, text, tool, related_request_id=self._ctx.request_id))

    @property
    def _state(self) -> str:
        return getattr(self._params, "request_state", None) or ""

    def _has(self, capability: mcp_types.ClientCapabilities) -> bool:
        return bool(self._ctx.session.check_client_capability(capability))

    def _put(self, request: Request) -> Any:
        """Ask in the middle of the request, as earlier revisions can; None without an answer."""
        session, request_id = self._ctx.session, self._ctx.request_id
        # Every error means that there is no answer.
        with suppress(Exception), outdated_allowed():
            if isinstance(request, mcp_types.ListRootsRequest):
                related = ServerMessageMetadata(related_request_id=request_id)
                ask = session.send_request(request, mcp_types.ListRootsResult, metadata=related)
            elif isinstance(request, mcp_types.CreateMessageRequest):
                ask = session.create_message(
                    request.params.messages,
                    max_tokens=request.params.max_tokens,
                    related_request_id=request_id,
                )
            else:
                form: Any = request.params
                ask = session.elicit_form(
                    form.message, form.requested_schema, related_request_id=request_id
                )
            return self._wait_for(ask)
        return None

    def _put_later(self, pending: Pending) -> None:
        """Wait for the requests with the answers.

        The work is suspended, not repeated with the answer: a tool that asks halfway must not do
        the first half twice.
        """
        if self._is_abandoned:
            return
        self._pending = pending
        forget = self._cancel.on_set(pending.reply.cancel)
        self._loop.call_soon_threadsafe(self._questions.put_nowait, pending)
        try:
            pending.reply.result(ANSWER_S)
        except (concurrent.futures.CancelledError, TimeoutError):
            self._is_abandoned = True
        finally:
            forget()

    def _wait_for(self, work: Any) -> Any:
        """Do *work* on the server's loop until the request is cancelled.

        The session asks from threads of its own.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        forget = self._cancel.on_set(future.cancel)
        try:
            return future.result()
        finally:
            forget()


def _subject(params: Any) -> tuple[Any, ...]:
    keys = ("name", "uri", "arguments")
    return (type(params), *(getattr(params, key, None) for key in keys))


def _input_required(requests: Mapping[str, Request], state: str) -> mcp_types.InputRequiredResult:
    return mcp_types.InputRequiredResult(input_requests={**requests}, request_state=state)


def _lacks(capability: mcp_types.ClientCapabilities) -> MCPError:
    """Return the protocol's error for a client that lacks *capability* for a question."""
    lacking = mcp_types.MissingRequiredClientCapabilityErrorData(required_capabilities=capability)
    return MCPError(
        code=mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        message="the call asks what this client cannot answer",
        data=lacking.model_dump(by_alias=True, mode="json", exclude_none=True),
    )
