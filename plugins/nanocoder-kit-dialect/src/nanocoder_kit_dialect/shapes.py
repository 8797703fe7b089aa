"""One tool as a dialect shows it: a function whose signature is what the model is told."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from nanocoder import BadArguments, Tool, ToolCall, ToolResult, parse_json, tool

Arguments = dict[str, Any]
Render = Callable[[Mapping[str, Any], ToolResult], str]
"""Words a result; gets the arguments that the model sent, checked where they could be."""

WRAPPERS = ("params", "arguments")


@frozen(eq=False)
class Shape:
    """What the model calls *name* is the installed tool *tool*.

    *form* is a tool in form only: its parameters are what the model is told, and its handler turns
    them into the arguments of *tool*. None shows the parameters that *tool* has. *render* words
    what worked and *failed* what did not; None leaves the tool's own text, or the dialect's.
    """

    name: str
    tool: str
    form: Tool[..., Arguments] | None = None
    render: Render | None = None
    failed: Render | None = None

    def offered(self, tool: Tool[..., Any]) -> dict[str, Any]:
        """Return name, description and parameters, of *tool* where the shape has none."""
        form: Tool[..., Any] = self.form or tool
        return {
            "name": self.name,
            "description": form.description,
            "parameters": form.parameters,
        }

    def translated(self, call: ToolCall) -> Arguments:
        """Return the arguments of the installed tool; raises BadArguments."""
        given = opened(call)
        if self.form is None:
            return dict(given)
        return self.form.handler(**self.form.signature.check(given))

    def arguments(self, call: ToolCall) -> Mapping[str, Any]:
        """Return what the model sent, with the defaults where it makes sense."""
        try:
            given = opened(call)
            return given if self.form is None else self.form.signature.check(given)
        except BadArguments:
            return call.arguments


def shape(
    name: str, tool_name: str, *, render: Render | None = None, failed: Render | None = None
) -> Callable[[Callable[..., Arguments]], Shape]:
    """Make a shape of a function: from the reference's parameters to those of *tool_name*."""

    def make(function: Callable[..., Arguments]) -> Shape:
        return Shape(name, tool_name, tool(function), render, failed)

    return make


def renamed(name: str, tool_name: str) -> Shape:
    """Make a shape that is the installed tool under another name."""
    return Shape(name, tool_name)


def opened(call: ToolCall) -> Mapping[str, Any]:
    """Take arguments out of {"params": {…}}, as some models send them; raises BadArguments."""
    if len(call.arguments) != 1:
        return call.arguments
    ((key, inside),) = call.arguments.items()
    if key not in WRAPPERS:
        return call.arguments
    if isinstance(inside, str):
        inside = parse_json(inside)
    return inside if isinstance(inside, Mapping) else call.arguments
