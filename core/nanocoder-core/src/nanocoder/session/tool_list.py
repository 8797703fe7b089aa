"""What the model is told of the tools, and how what it says of them is read."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve
from nanocoder_schema import for_model_schema

from nanocoder.errors import NanocoderError
from nanocoder.hooks.contributions import Dialect
from nanocoder.path.outcome import clean_and_clip, keep_note
from nanocoder.provider import ToolDefinition
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import ANY_TOOL, Tool, ToolInfo
from nanocoder.values import Effect, Message, Mode, ToolCall, ToolResult

MAX_NAMED = 200
"""How many deferred tools are named at the most; the others can be searched for all the same."""

Tools = Mapping[str, Tool[..., Any]]


class Offering:
    """The tools as one model sees them: all or few, in their own names or a dialect's.

    Where one of them reveals others, only those that *always* names are told from the start. The
    others are deferred: added behind them, in the order in which results reveal them or the model
    calls them.
    """

    def __init__(
        self,
        dialect: Dialect | None = None,
        always: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        self.dialect = dialect
        self._always = always
        self._revealed: dict[str, None] = {}
        self._read: tuple[int, Message | None] = (0, None)
        self._made: tuple[Any, tuple[ToolDefinition, ...]] | None = None

    def definitions(
        self, tools: Tools, session: SessionInfo, messages: Sequence[Message] = ()
    ) -> tuple[ToolDefinition, ...]:
        """Return what is sent: the same object until a tool is revealed or the session changes.

        *messages* is the transcript: what it revealed, also before it was resumed, is told.
        """
        self._follow(messages)
        offered = self._offered(tools, session)
        deferred = self._deferred(offered, session)
        found = [name for name in self._revealed if name in deferred]
        key = (tuple(tools), session.mode, session.profile, tuple(deferred), tuple(found))
        if self._made is None or self._made[0] != key:
            made = self._defined(offered, deferred, found, small=session.profile == "small")
            self._made = (key, tuple(made))
        return self._made[1]

    def infos(self, tools: Tools, session: SessionInfo) -> tuple[ToolInfo, ...]:
        """Return what the tools may know of each other: those that the session offers now."""
        offered = self._offered(tools, session)
        deferred = self._deferred(offered, session).keys() - self._revealed.keys()
        is_small = session.profile == "small" and self.dialect is None
        return tuple(
            ToolInfo(
                tool.name,
                tool.description,
                few_parameters(tool) if is_small else tool.parameters,
                tool.risk,
                tool.name in deferred,
            )
            for tool in offered
        )

    def _offered(self, tools: Tools, session: SessionInfo) -> list[Tool[..., Any]]:
        """Return the tools that fit the session's mode and its model."""
        offered = list(tools.values())
        if session.mode is Mode.PLAN:
            changing = {Effect.WRITE, Effect.EXECUTE}
            # What only calls other tools does nothing itself, and each of its calls is judged.
            offered = [
                tool
                for tool in offered
                if ANY_TOOL in tool.composed_of or not tool.effects & changing
            ]
        if session.profile == "small" and self.dialect is None:
            offered = [tool for tool in offered if tool.short]
        return offered

    def _follow(self, messages: Sequence[Message]) -> None:
        """Take note of the tools in what was said since the last time."""
        count, last = self._read
        if count > len(messages) or (count and messages[count - 1] is not last):
            count = 0  # the transcript was compacted
        for message in messages[count:]:
            self._revealed |= dict.fromkeys(call.name for call in message.calls)
            for result in message.results:
                self._revealed |= dict.fromkeys(revealed_by(result))
        self._read = (len(messages), messages[-1] if messages else None)

    def _deferred(self, offered: Sequence[Tool[..., Any]], session: SessionInfo) -> Tools:
        """Return the tools that wait to be revealed; none where nothing could reveal them."""
        told_all = self.dialect is not None or session.profile == "small"
        if told_all or not any(tool.reveals for tool in offered):
            return {}
        always = self._always()
        return {one.name: one for one in offered if not one.reveals and one.name not in always}

    def _defined(
        self,
        offered: Sequence[Tool[..., Any]],
        deferred: Tools,
        found: Sequence[str],
        *,
        small: bool,
    ) -> Iterator[ToolDefinition]:
        if self.dialect is not None:
            for offer in self.dialect.offer(offered):
                yield ToolDefinition(offer["name"], offer["description"], offer["parameters"])
        elif small:
            for tool in offered:
                yield ToolDefinition(tool.name, tool.short, few_parameters(tool))
        else:
            first = [tool for tool in offered if tool.name not in deferred]
            for tool in [*first, *(deferred[name] for name in found)]:
                # It names those that were found, too: its own bytes, in front of the others, must
                # stay the same for a cache.
                more = _named(deferred) if tool.reveals else ""
                yield ToolDefinition(
                    tool.name, tool.description + more, for_model_schema(tool.parameters)
                )

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
            evolve(result, output=clean_and_clip(keep_note(result, text), result.artifact))
            for text, result in zip(texts, results, strict=True)
        ]


def _named(deferred: Tools) -> str:
    if not deferred:
        return ""
    names = list(deferred)[:MAX_NAMED]
    left_out = len(deferred) - len(names)
    return f"\nDeferred: {', '.join(names)}{f' and {left_out} more' if left_out else ''}."


def revealed_by(result: ToolResult) -> list[str]:
    """Return the names of the tools that *result* reveals: its metadata's list "reveals"."""
    names = result.metadata.get("reveals")
    if result.is_error or not isinstance(names, list | tuple):
        return []
    return [name for name in names if isinstance(name, str)]


def few_parameters(tool: Tool[..., Any]) -> dict[str, Any]:
    """Return the schema of *tool* without optional numbers and switches: they tempt a small model.

    So do optional strings that are a choice or have to have a form. What every example of the tool
    gives is required: a small model leaves out what it may.
    """
    schema = tool.parameters
    required = schema.get("required", ())
    kept = {
        name: one
        for name, one in schema.get("properties", {}).items()
        if name in required
        or (one.get("type") == "string" and not {"enum", "pattern"} & one.keys())
    }
    given = [name for name in kept if tool.examples and all(name in e for e in tool.examples)]
    needed = [name for name in kept if name in required or name in given]
    return {**schema, "properties": kept, "required": needed}
