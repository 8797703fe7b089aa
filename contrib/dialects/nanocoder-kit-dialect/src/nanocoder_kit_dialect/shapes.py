"""One tool as a dialect shows it: a function whose signature defines it for the model."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from nanocoder import BadArguments, Tool, ToolCall, ToolResult, parse_json, tool

Arguments = dict[str, Any]
Render = Callable[[Mapping[str, Any], ToolResult], str]
"""Writes the answer; gets the arguments that the model sent, checked if that was possible."""

WRAPPERS = ("params", "arguments")


@frozen(eq=False)
class Shape:
    """The tool *name* of a model is the installed tool *tool*.

    *form* is a tool in form only: the model gets its parameters, and its handler converts them to
    the arguments of *tool*. None shows the parameters of *tool*. *render* writes the answer for a
    success and *render_failure* for a failure; None selects the tool's own text, or the dialect's.
    """

    name: str
    tool: str
    form: Tool[..., Arguments] | None = None
    render: Render | None = None
    render_failure: Render | None = None

    def definition(self, tool: Tool[..., Any]) -> dict[str, Any]:
        """Return name, description and parameters, of *tool* where the shape has none."""
        form: Tool[..., Any] = self.form or tool
        return {
            "name": self.name,
            "description": form.description,
            "parameters": form.parameters,
        }

    def translate(self, call: ToolCall) -> Arguments:
        """Return the arguments of the installed tool; raises BadArguments."""
        arguments = unwrap_arguments(call)
        if self.form is None:
            return dict(arguments)
        return self.form.handler(**self.form.signature.check(arguments))

    def arguments(self, call: ToolCall) -> Mapping[str, Any]:
        """Return the arguments that the model sent, with defaults if they are valid."""
        try:
            arguments = unwrap_arguments(call)
            return arguments if self.form is None else self.form.signature.check(arguments)
        except BadArguments:
            return call.arguments


def shape(
    name: str, tool_name: str, *, render: Render | None = None, render_failure: Render | None = None
) -> Callable[[Callable[..., Arguments]], Shape]:
    """Make a shape from a function that turns the reference's arguments into *tool_name*'s."""

    def make(function: Callable[..., Arguments]) -> Shape:
        return Shape(name, tool_name, tool(function), render, render_failure)

    return make


def rename(name: str, tool_name: str) -> Shape:
    """Show the installed tool under another name."""
    return Shape(name, tool_name)


def unwrap_arguments(call: ToolCall) -> Mapping[str, Any]:
    """Take arguments out of {"params": {…}}, which some models send; raises BadArguments."""
    if len(call.arguments) != 1:
        return call.arguments
    ((key, inside),) = call.arguments.items()
    if key not in WRAPPERS:
        return call.arguments
    if isinstance(inside, str):
        inside = parse_json(inside)
    return inside if isinstance(inside, Mapping) else call.arguments
