"""Leave the definitions of rarely used tools out of requests until the model needs them."""

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

from nanocoder import Message, Request, ToolDefinition, ToolResult, evolve

PLUGIN = "tool-search"
TOOLS = "tools"
"""The resource with a session's SessionTools."""
MAX_NAMED = 200
"""Limit of the deferred tools that are named; the search also finds the others."""

Definitions = Mapping[str, ToolDefinition]


class SessionTools:
    """The tools of one session: which are deferred, and which the model has found or called."""

    def __init__(self) -> None:
        self.deferred: frozenset[str] = frozenset()
        self._revealed: dict[str, None] = {}
        self._count = 0
        self._last: Message | None = None
        self._offered: tuple[Sequence[ToolDefinition], Collection[str]] = ((), ())
        self._deferrable: Definitions = {}
        self._key: tuple[Any, ...] = ()
        self._listed = -1
        self._tools: tuple[ToolDefinition, ...] = ()

    def reduce(self, request: Request, always: Collection[str]) -> Request:
        """Return *request* without the definitions of the deferred tools.

        Its tools are the same object until one is revealed or the session offers others.
        """
        self._follow(request.messages)
        if self._offered[0] is not request.tools or self._offered[1] is not always:
            self._offered = request.tools, always
            self._deferrable = {
                definition.name: definition
                for definition in request.tools
                if not _is_listed(definition, always)
            }
        elif self._listed == len(self._revealed):  # names are only added
            return evolve(request, tools=self._tools)
        self._listed = len(self._revealed)
        deferred = self._deferrable
        revealed = [name for name in self._revealed if name in deferred]
        self.deferred = frozenset(deferred.keys() - self._revealed.keys())
        key = (request.tools, *revealed)
        if not self._key or self._key[0] is not key[0] or self._key[1:] != key[1:]:
            first = [
                _name_deferred(definition, list(deferred))
                for definition in request.tools
                if definition.name not in deferred
            ]
            # After the others, so that the provider's cache of the earlier tools stays valid.
            self._key, self._tools = key, (*first, *(deferred[name] for name in revealed))
        return evolve(request, tools=self._tools)

    def _follow(self, messages: Sequence[Message]) -> None:
        """Record the tools that the new messages call or reveal."""
        count = self._count
        if count > len(messages) or (count and messages[count - 1] is not self._last):
            count = 0  # the transcript was compacted
        for message in messages[count:]:
            self._revealed |= dict.fromkeys(call.name for call in message.calls)
            for result in message.results:
                self._revealed |= dict.fromkeys(_revealed_by(result))
        self._count, self._last = len(messages), messages[-1] if messages else None


def can_search(tools: Sequence[ToolDefinition]) -> bool:
    """Return True if the model has the tool that finds deferred ones, under whatever name."""
    return PLUGIN in map(attrgetter("plugin"), tools)


def _is_search(definition: ToolDefinition) -> bool:
    return definition.plugin == PLUGIN


def _is_listed(definition: ToolDefinition, always: Collection[str]) -> bool:
    """Return True if every request has the definition."""
    if _is_search(definition):
        return True
    return definition.name in always if always else definition.always_listed


def _name_deferred(definition: ToolDefinition, names: Sequence[str]) -> ToolDefinition:
    """Add the names of deferred tools to the definition of the search.

    Revealed ones stay named: a cache needs the same bytes in front of the other definitions.
    """
    if not names or not _is_search(definition):
        return definition
    left_out = len(names) - MAX_NAMED
    more = f" and {left_out} more" if left_out > 0 else ""
    listed = f"\nDeferred: {', '.join(names[:MAX_NAMED])}{more}."
    return evolve(definition, description=definition.description + listed)


def _revealed_by(result: ToolResult) -> list[str]:
    """Return the names of the tools in the list "reveals" of a result's metadata."""
    names = result.metadata.get("reveals")
    if result.is_error or not isinstance(names, list | tuple):
        return []
    return [name for name in names if isinstance(name, str)]
