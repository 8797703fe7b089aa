"""What calls of tools cost: the cost of a run, divided over the requests that asked for them."""

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
    """Keeps the requests of each session's run until its cost is known."""

    def __init__(self) -> None:
        self._requests: defaultdict[str, list[_Request]] = defaultdict(list)

    def add_request(self, session_id: str, tokens: int) -> None:
        """Note a request and its tokens, read and written."""
        self._requests[session_id].append(_Request(tokens))

    def add_call(self, session_id: str, tool: Tool) -> None:
        """Note a call that the last request asked for."""
        if requests := self._requests.get(session_id):
            requests[-1].calls.append(tool)

    def end(self, session_id: str, cost: float | None) -> Iterator[tuple[Tool, float]]:
        """Yield the part of each call, and forget the run.

        A request has its part by its tokens, and divides it evenly over its calls.
        """
        requests = self._requests.pop(session_id, [])
        tokens = sum(request.tokens for request in requests)
        if not cost or not tokens:
            return
        for request in requests:
            calls = request.calls or [NO_TOOL]
            part = cost * request.tokens / tokens / len(calls)
            yield from ((tool, part) for tool in calls)
