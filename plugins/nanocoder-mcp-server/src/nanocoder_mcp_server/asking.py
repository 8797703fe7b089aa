"""Asking a client's person about the calls of a request: approvals, and the questions of tools."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

import anyio
import anyio.to_thread
import mcp_types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from nanocoder import ApprovalRequest, Cancel, Question, for_terminal
from nanocoder_kit_questions import DECLINE, REPLY, Form, Prompt

from nanocoder_mcp_server.calls import Calls, Run
from nanocoder_mcp_server.logs import Logs, outdated_allowed

T = TypeVar("T")
QUESTION: Final = "approval"
ANSWER: Final = "answer"
SHOWN: Final = frozenset({"title", "description"})
"""What of a form's fields a person reads, and no program."""
CAN_ASK: Final = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
HAS_MODEL: Final = mcp_types.ClientCapabilities(sampling=mcp_types.SamplingCapability())
FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Run it?",
            "description": "Whether the call may run.",
            "default": False,
        }
    },
    "required": ["approve"],
}


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
        self._cancel = Cancel()
        self._progress = 0
        self._loop = asyncio.get_running_loop()
        self._is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def result(self, job: Callable[[Run], T]) -> T | mcp_types.InputRequiredResult:
        """Do a job; return its result, or a question that the client has to answer first."""
        work = partial(self._calls.work, job, self, self._cancel)
        try:
            result = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            self._cancel.set()
            raise
        finally:
            self._calls.settle(self._state)
        if self._needed is not None:
            return mcp_types.InputRequiredResult(
                input_requests={QUESTION: mcp_types.ElicitRequest(params=_form(self._needed))},
                request_state=self._calls.remember(self._needed),
            )
        return result

    def approve(self, request: ApprovalRequest) -> bool | None:
        """Return the client's answer; None where it has none."""
        if not self._has(CAN_ASK):
            return None
        if not self._is_modern:
            response = self._elicit(_form(request).message, FORM)
            return None if response is None else _agreed(response)
        if self._many:  # asked again with each answer, they would never come to an end
            return None
        responses = self._params.input_responses or {}
        if self._calls.was_asked(self._state, request):
            response = responses.get(QUESTION)
            return _agreed(response) if response is not None else None
        self._needed = request
        return None

    def answer(self, question: Question) -> str | None:
        """Put a tool's question to the client's person, or its model; None without an answer.

        Later revisions would run the call a second time with the answer, and a tool that asks in
        the middle of its work must not do that work twice.
        """
        if self._is_modern:
            return None
        if isinstance(question, Prompt) and self._has(HAS_MODEL):
            return self._sampled(question)
        if not self._has(CAN_ASK):
            return None
        if isinstance(question, Form):
            return self._filled(question)
        response = self._elicit(for_terminal(question.text), question_form(question))
        if response is None or response.action != "accept":
            return None
        answer = (response.content or {}).get(ANSWER)
        is_choice = question.custom or answer in question.choices
        return answer if isinstance(answer, str) and is_choice else None

    def show_notice(self, text: str) -> None:
        """Log what a person should know."""
        self._log("warning", "nanocoder", text)

    def show_progress(self, tool: str, text: str) -> None:
        """Log what *tool* says, and send its progress to a client that wants it.

        Each such notification has a higher number.
        """
        self._log("info", tool, text)
        token = (self._ctx.meta or {}).get("progress_token")
        if token is None:
            return
        self._progress += 1
        send = self._ctx.session.send_progress_notification
        # A client that does not listen any more is no reason to stop the call.
        with suppress(Exception):
            self._wait_for(send(token, float(self._progress), None, text))

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

    def _filled(self, form: Form) -> str | None:
        """Return what the client's person filled in, as JSON."""
        response = self._elicit(for_terminal(form.text), shown_fields(form.fields))
        if response is None or response.action == "cancel":
            return None
        return json.dumps(response.content or {}) if response.action == "accept" else DECLINE

    def _sampled(self, prompt: Prompt) -> str:
        """Return what the client's model answers, as JSON; the client asks its person."""
        content = mcp_types.TextContent(type="text", text=prompt.prompt)
        message = mcp_types.SamplingMessage(role="user", content=content)
        try:
            with outdated_allowed():
                ask = self._ctx.session.create_message(
                    [message],
                    max_tokens=prompt.max_tokens,
                    related_request_id=self._ctx.request_id,
                )
            response = self._wait_for(ask)
        except Exception:  # noqa: BLE001 - whatever goes wrong there, there is no answer
            return "{}"
        text = getattr(response.content, "text", None)
        return json.dumps({REPLY: text} if isinstance(text, str) else {})

    def _elicit(self, message: str, form: dict[str, Any]) -> Any:
        """Ask in the middle of the call, as earlier revisions can; None without an answer."""
        request_id = self._ctx.request_id
        ask = self._ctx.session.elicit_form(message, form, related_request_id=request_id)
        try:
            return self._wait_for(ask)
        except Exception:  # noqa: BLE001 - whatever goes wrong there, nobody has answered
            return None

    def _wait_for(self, work: Any) -> Any:
        """Do *work* on the server's loop until the call is cancelled.

        The session asks from threads of its own.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        forget = self._cancel.on_set(future.cancel)
        try:
            return future.result()
        finally:
            forget()


def _form(request: ApprovalRequest) -> mcp_types.ElicitRequestFormParams:
    preview = for_terminal(request.preview)
    parts = [f"{request.call.name} needs your approval: {request.reason}", preview]
    message = "\n".join(filter(None, parts))
    return mcp_types.ElicitRequestFormParams(message=message, requested_schema=FORM)


def _agreed(response: Any) -> bool:
    return response.action == "accept" and (response.content or {}).get("approve") is True


def question_form(question: Question) -> dict[str, Any]:
    """Return the form that asks *question*: one field, with its choices."""
    field: dict[str, Any] = {"type": "string", "title": "Answer"}
    choices = [for_terminal(choice) for choice in question.choices]
    if choices == [*question.choices] and choices and not question.custom:
        field["enum"] = choices
    elif choices:
        field["description"] = f"For example: {'; '.join(choices)}"
    return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}


def shown_fields(fields: Any) -> Any:
    """Return the schema of a form without what a terminal could obey in its texts."""
    if isinstance(fields, list | tuple):
        return [shown_fields(each) for each in fields]
    if not isinstance(fields, Mapping):
        return fields
    return {
        key: for_terminal(value) if key in SHOWN and isinstance(value, str) else shown_fields(value)
        for key, value in fields.items()
    }
