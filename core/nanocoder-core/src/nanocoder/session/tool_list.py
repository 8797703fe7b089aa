"""Which tools the model is offered, and how its calls are mapped back to them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from attrs import evolve
from nanocoder_schema import for_model_schema

from nanocoder.errors import NanocoderError
from nanocoder.hooks.contributions import Dialect
from nanocoder.plugins import Plugins
from nanocoder.provider import ToolDefinition
from nanocoder.tools.outcome import clean_and_clip, keep_note
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import ANY_TOOL, Tool, ToolInfo
from nanocoder.values import Effect, Mode, ToolCall, ToolResult

Has = Callable[[Tool[..., Any]], bool]


class ToolList:
    """The tools of one session, and how its model sees them: by their own names or a dialect's.

    *has* tells which of all tools a sub-agent has.
    """

    def __init__(
        self, plugins: Plugins, dialect: Dialect | None = None, has: Has | None = None
    ) -> None:
        self.dialect = dialect
        self._plugins = plugins
        self._has = has
        self._key: tuple[Any, ...] = ()
        self._definitions: tuple[ToolDefinition, ...] = ()

    def tools(self) -> Mapping[str, Tool[..., Any]]:
        """Return the session's tools by name."""
        tools, has = self._plugins.tools(), self._has
        return tools if has is None else {name: tools[name] for name in tools if has(tools[name])}

    def definitions(self, session: SessionInfo) -> tuple[ToolDefinition, ...]:
        """Return what is sent: the same object until the tools, the mode or the model change."""
        key = (tuple(self.tools()), session.mode, session.profile)
        if self._key != key:
            self._key = key
            self._definitions = tuple(self._define(self._offered(session), session))
        return self._definitions

    def infos(self, session: SessionInfo) -> tuple[ToolInfo, ...]:
        """Return what the tools may know of each other: those that the session offers now."""
        is_small = session.profile == "small" and self.dialect is None
        parameters_of = few_parameters if is_small else attrgetter("parameters")
        return tuple(
            ToolInfo(tool.name, tool.description, parameters_of(tool), tool.risk)
            for tool in self._offered(session)
        )

    def _offered(self, session: SessionInfo) -> list[Tool[..., Any]]:
        """Return the tools that fit the session's mode and its model."""
        offered = list(self.tools().values())
        if session.mode is Mode.PLAN:
            changing = {Effect.WRITE, Effect.EXECUTE}
            # A tool that only calls others does nothing itself, and each of its calls is judged.
            offered = [
                tool
                for tool in offered
                if ANY_TOOL in tool.composed_of or not tool.effects & changing
            ]
        if session.profile == "small" and self.dialect is None:
            offered = [tool for tool in offered if tool.short]
        return offered

    def _define(
        self, offered: Sequence[Tool[..., Any]], session: SessionInfo
    ) -> Iterator[ToolDefinition]:
        if self.dialect is not None:
            for offer in self.dialect.offer(offered):
                yield ToolDefinition(offer["name"], offer["description"], offer["parameters"])
            return
        for tool in offered:
            if session.profile == "small":
                yield ToolDefinition(tool.name, tool.short, few_parameters(tool), tool.plugin)
            else:
                parameters = for_model_schema(tool.parameters)
                listed = tool.always_listed
                yield ToolDefinition(tool.name, tool.description, parameters, tool.plugin, listed)

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
        # A dialect words its text from the data, which nobody has cleaned or cut so far.
        return [
            evolve(result, output=clean_and_clip(keep_note(result, text), result.artifact))
            for text, result in zip(map(self.dialect.render, calls, results), results, strict=True)
        ]


def few_parameters(tool: Tool[..., Any]) -> dict[str, Any]:
    """Return the schema of *tool* without optional numbers and switches: they tempt a small model.

    So do optional strings that are a choice or have to have a form. A parameter that each example
    of the tool has is required: a small model leaves out what it may.
    """
    schema = tool.parameters
    required = schema.get("required", ())
    properties = {
        name: parameter
        for name, parameter in schema.get("properties", {}).items()
        if name in required
        or (parameter.get("type") == "string" and not {"enum", "pattern"} & parameter.keys())
    }
    needed = [
        name
        for name in properties
        if name in required or (tool.examples and all(name in item for item in tool.examples))
    ]
    return {**schema, "properties": properties, "required": needed}
