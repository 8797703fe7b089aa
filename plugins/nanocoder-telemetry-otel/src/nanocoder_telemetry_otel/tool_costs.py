"""The costs of tool calls: the cost of a run, divided over the requests that made the calls."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from attrs import define, field

Tool = tuple[str, str]
"""A tool and its plugin."""
NO_TOOL: Final = ("none", "")
"""For requests that led to no call, such as the answer."""


@define
class _Request:
    tokens: int
    calls: list[Tool] = field(factory=list)


class ToolCosts:
    """Collects the requests of each session's run until its cost is known."""

    def __init__(self) -> None:
        self._requests: defaultdict[str, list[_Request]] = defaultdict(list)

    def add_request(self, session_id: str, tokens: int) -> None:
        """Record a request and its tokens, read and written."""
        self._requests[session_id].append(_Request(tokens))

    def add_call(self, session_id: str, tool: Tool) -> None:
        """Record a call that the last request made."""
        if requests := self._requests.get(session_id):
            requests[-1].calls.append(tool)

    def end(self, session_id: str, cost: float | None) -> Iterator[tuple[Tool, float]]:
        """Yield the share of each call, and remove the run.

        The share of a request is proportional to its tokens, and divided evenly over its calls.
        """
        requests = self._requests.pop(session_id, [])
        tokens = sum(request.tokens for request in requests)
        if not cost or not tokens:
            return
        for request in requests:
            calls = request.calls or [NO_TOOL]
            part = cost * request.tokens / tokens / len(calls)
            yield from ((tool, part) for tool in calls)
