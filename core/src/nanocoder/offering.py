"""What the model is told of the tools, and how what it says of them is read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from nanocoder.errors import NanocoderError
from nanocoder.offers import Dialect
from nanocoder.provider import ToolDefinition
from nanocoder.results import cut
from nanocoder.tool import SessionInfo, Tool
from nanocoder.values import Effect, Mode, ToolCall, ToolResult


class Offering:
    """The tools as one model sees them: all or few, in their own names or a dialect's."""

    def __init__(self, dialect: Dialect | None = None) -> None:
        self.dialect = dialect
        self._made: tuple[Any, tuple[ToolDefinition, ...]] | None = None

    def definitions(
        self, tools: Mapping[str, Tool[..., Any]], session: SessionInfo
    ) -> tuple[ToolDefinition, ...]:
        """Return what is sent: the same object until the tools, the mode or the profile change."""
        key = (tuple(tools), session.mode, session.profile)
        if self._made is None or self._made[0] != key:
            self._made = (key, tuple(self._defined(list(tools.values()), session)))
        return self._made[1]

    def _defined(
        self, tools: Sequence[Tool[..., Any]], session: SessionInfo
    ) -> Iterator[ToolDefinition]:
        if session.mode is Mode.PLAN:
            tools = [tool for tool in tools if not tool.effects & {Effect.WRITE, Effect.EXECUTE}]
        if self.dialect is not None:
            for offer in self.dialect.offer(tools):
                yield ToolDefinition(offer["name"], offer["description"], offer["parameters"])
            return
        small = session.profile == "small"
        for tool in tools:
            if not small:
                yield ToolDefinition(tool.name, tool.description, tool.parameters)
            elif tool.short:
                yield ToolDefinition(tool.name, tool.short, few_parameters(tool.parameters))

    def canonical(self, call: ToolCall) -> ToolCall:
        """Return the call in canonical terms; what a dialect cannot read becomes its error."""
        if self.dialect is None or call.error:
            return call
        try:
            return self.dialect.canonical(call)
        except NanocoderError as error:
            return evolve(call, error=str(error))

    def rendered(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult]
    ) -> list[ToolResult]:
        """Return the results as the dialect words them; *calls* are those that the model made."""
        if self.dialect is None:
            return list(results)
        texts = map(self.dialect.render, calls, results)
        # A dialect words its text from the data, which nobody has cleaned or cut so far.
        return [
            evolve(
                result,
                output=cut(text),
            )
            for text, result in zip(texts, results, strict=True)
        ]


def few_parameters(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* without optional numbers and switches, which tempt a small model."""
    required = schema.get("required", ())
    kept = {
        name: one
        for name, one in schema.get("properties", {}).items()
        if name in required or (one.get("type") == "string" and "enum" not in one)
    }
    return {**schema, "properties": kept}
