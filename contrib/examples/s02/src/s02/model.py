"""Any provider of nanocoder, behind the interface of Anthropic's messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from nanocoder import (
    Cancel,
    Finished,
    Message,
    ProviderError,
    Request,
    Session,
    ToolCall,
    ToolDefinition,
    ToolResult,
)


@frozen
class Response:
    """One answer."""

    content: list[dict[str, Any]]
    stop_reason: str


class Model:
    """The model of *session*, from any provider."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Providers cache encoded messages by identity, so each message is converted only once.
        self._messages: list[tuple[dict[str, Any], Message]] = []
        self._replies: list[tuple[Sequence[Any], Finished]] = []

    def create(
        self,
        *,
        system: str,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        max_tokens: int,
    ) -> Response:
        """Ask once; raises ProviderError."""
        request = Request(
            model=self._session.chosen.model,
            system=system,
            messages=[self._message(message) for message in messages],
            tools=[
                ToolDefinition(
                    definition["name"], definition["description"], definition["input_schema"]
                )
                for definition in tools
            ],
            max_tokens=max_tokens,
        )
        finished = self._ask(request)
        response = Response(_blocks(finished), _stop_reason(finished))
        self._replies.append((response.content, finished))
        return response

    def _ask(self, request: Request) -> Finished:
        for piece in self._session.open_provider().stream(request, Cancel()):
            if isinstance(piece, Finished):
                return piece
        raise ProviderError("the model ended without finishing its reply", kind="protocol")

    def _message(self, message: dict[str, Any]) -> Message:
        for original, converted in self._messages:
            if original is message:
                return converted
        converted = self._convert(message)
        self._messages.append((message, converted))
        return converted

    def _convert(self, message: Mapping[str, Any]) -> Message:
        content = message["content"]
        if isinstance(content, str):
            return Message(message["role"], content)
        if message["role"] == "user":
            results = (
                ToolResult(result["content"], call_id=result["tool_use_id"]) for result in content
            )
            return Message("tool", results=tuple(results))
        finished = next((reply for blocks, reply in self._replies if blocks is content), None)
        if finished is None:
            raise ValueError("an assistant's content must be passed back unchanged")
        return Message("assistant", finished.text, calls=finished.calls, native=finished.native)


def _blocks(finished: Finished) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": finished.text}] if finished.text else []
    return [*text, *(_tool_use(call) for call in finished.calls)]


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}


def _stop_reason(finished: Finished) -> str:
    if finished.calls:
        return "tool_use"
    return "max_tokens" if finished.truncated else "end_turn"
