"""The loop itself: request a reply, append it, run its tool calls, append their results."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

SYSTEM = "You are a coding agent in the current directory. Use the tools, then answer in one line."
MAX_TOKENS = 8_000


class Reply(Protocol):
    """A reply of the model."""

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of the answer."""
        ...

    @property
    def stop_reason(self) -> str:
        """The reason why it ends: "tool_use" when tools are to run."""
        ...


class Asked(Protocol):
    """Whatever can be asked like Anthropic's messages interface."""

    def create(
        self,
        *,
        system: str,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        max_tokens: int,
    ) -> Reply:
        """Answer *messages*."""
        ...


def agent_loop(
    messages: list[dict[str, Any]],
    model: Asked,
    definitions: list[dict[str, Any]],
    handlers: Mapping[str, Callable[..., str]],
    show: Callable[[str, str], None] = lambda _name, _output: None,
) -> None:
    """Extend *messages* until the model is done; *show* gets each tool's name and output."""
    while True:
        reply = model.create(
            system=SYSTEM, messages=messages, tools=definitions, max_tokens=MAX_TOKENS
        )
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            return
        results = []
        for block in reply.content:
            if block["type"] == "tool_use":
                name = block["name"]
                handler = handlers.get(name)
                output = handler(**block["input"]) if handler else f"Unknown tool: {name}"
                show(name, output)
                results.append(
                    {"type": "tool_result", "tool_use_id": block["id"], "content": output}
                )
        messages.append({"role": "user", "content": results})
