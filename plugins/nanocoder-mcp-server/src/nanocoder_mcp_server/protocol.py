"""The requests of clients, as the official SDK hands them over, and what they get back."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from nanocoder import (
    ApprovalRequest,
    Cancel,
    Question,
    Risk,
    Tool,
    __version__,
    for_terminal,
)

from nanocoder_mcp_server.calls import Calls
from nanocoder_mcp_server.results import result_of

QUESTION: Final = "approval"
ANSWER: Final = "answer"
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
Tools = Mapping[str, Tool[..., Any]]


def server_of(calls: Calls, tools: Tools) -> Server[Any]:
    """Return a server that offers *tools* and takes each call to *calls*."""
    listed = [definition_of(tool) for tool in tools.values()]

    async def list_tools(_ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: Any) -> Any:
        if params.name not in tools:
            return _text(f"Unknown tool: {params.name}. Tools: {', '.join(tools)}", is_error=True)
        return await Asking(calls, ctx, params).result()

    return Server(
        "nanocoder", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )


def definition_of(tool: Tool[..., Any]) -> mcp_types.Tool:
    """Return a tool as clients read it, with hints that follow from its effects."""
    hints = mcp_types.ToolAnnotations(
        read_only_hint=tool.is_read_only,
        destructive_hint=tool.risk is Risk.DESTRUCTIVE,
        idempotent_hint="idempotent" in tool.effects,
        open_world_hint="network" in tool.effects,
    )
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        annotations=hints,
    )


class Asking:
    """One call of one client, and how the client is asked about it."""

    def __init__(self, calls: Calls, ctx: Any, params: Any) -> None:
        self._calls = calls
        self._ctx = ctx
        self._params = params
        self._needed: ApprovalRequest | None = None
        self._cancel = Cancel()
        self._progress = 0
        self._loop = asyncio.get_running_loop()
        self._is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def result(self) -> Any:
        """Run the call; return its result, or a question that the client has to answer first."""
        arguments = dict(self._params.arguments or {})
        work = partial(self._calls.call, self._params.name, arguments, self, self._cancel)
        try:
            result = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            self._cancel.set()
            raise
        finally:
            self._calls.settle(self._params.request_state or "")
        if self._needed is not None:
            return mcp_types.InputRequiredResult(
                input_requests={QUESTION: mcp_types.ElicitRequest(params=_form(self._needed))},
                request_state=self._calls.remember(self._needed),
            )
        return result_of(result)

    def approve(self, request: ApprovalRequest) -> bool | None:
        """Return the client's answer; None where it has none."""
        if not self._can_be_asked():
            return None
        if not self._is_modern:
            response = self._elicit(_form(request).message, FORM)
            return None if response is None else _agreed(response)
        responses = self._params.input_responses or {}
        if self._calls.was_asked(self._params.request_state or "", request):
            response = responses.get(QUESTION)
            return _agreed(response) if response is not None else None
        self._needed = request
        return None

    def answer(self, question: Question) -> str | None:
        """Put a tool's question to the client's person; None where there is no answer.

        Later revisions would run the call a second time with the answer, and a tool that asks in
        the middle of its work must not do that work twice.
        """
        if self._is_modern or not self._can_be_asked():
            return None
        response = self._elicit(for_terminal(question.text), question_form(question))
        if response is None or response.action != "accept":
            return None
        answer = (response.content or {}).get(ANSWER)
        is_choice = question.custom or answer in question.choices
        return answer if isinstance(answer, str) and is_choice else None

    def show_progress(self, text: str) -> None:
        """Send the client a notification, if it wants them; each has a higher number."""
        token = (self._ctx.meta or {}).get("progress_token")
        if token is None:
            return
        self._progress += 1
        send = self._ctx.session.send_progress_notification
        # A client that does not listen any more is no reason to stop the call.
        with suppress(Exception):
            self._wait_for(send(token, float(self._progress), None, text))

    def _can_be_asked(self) -> bool:
        capability = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
        return bool(self._ctx.session.check_client_capability(capability))

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


def _text(text: str, *, is_error: bool) -> mcp_types.CallToolResult:
    content: list[Any] = [mcp_types.TextContent(type="text", text=text)]
    return mcp_types.CallToolResult(content=content, is_error=is_error)
