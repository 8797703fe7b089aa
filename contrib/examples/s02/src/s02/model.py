"""Any provider of nanocoder, asked in the form of Anthropic's messages."""

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
    """The model of *session*, whichever provider it is from."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # A provider keeps what it has encoded by the identity of a message, so each is made once.
        self._made: list[tuple[dict[str, Any], Message]] = []
        self._said: list[tuple[Sequence[Any], Finished]] = []

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
                ToolDefinition(one["name"], one["description"], one["input_schema"])
                for one in tools
            ],
            max_tokens=max_tokens,
        )
        finished = self._finished(request)
        response = Response(_blocks(finished), _stop_reason(finished))
        self._said.append((response.content, finished))
        return response

    def _finished(self, request: Request) -> Finished:
        for piece in self._session.provider.stream(request, Cancel()):
            if isinstance(piece, Finished):
                return piece
        raise ProviderError("the model ended without finishing its reply", kind="protocol")

    def _message(self, message: dict[str, Any]) -> Message:
        for known, made in self._made:
            if known is message:
                return made
        made = self._converted(message)
        self._made.append((message, made))
        return made

    def _converted(self, message: Mapping[str, Any]) -> Message:
        content = message["content"]
        if isinstance(content, str):
            return Message(message["role"], content)
        if message["role"] == "user":
            results = (ToolResult(one["content"], call_id=one["tool_use_id"]) for one in content)
            return Message("tool", results=tuple(results))
        finished = next((said for blocks, said in self._said if blocks is content), None)
        if finished is None:
            raise ValueError("content of the assistant goes back as it came")
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
