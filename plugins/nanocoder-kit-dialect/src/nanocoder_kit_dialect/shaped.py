"""A dialect that is a table of shapes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve
from nanocoder import Tool, ToolCall, ToolResult, UnknownTool

from nanocoder_kit_dialect.shapes import Render, Shape
from nanocoder_kit_dialect.words import in_words, said

Write = Callable[[str, str, Mapping[str, Any]], Mapping[str, Any]]
"""A function from name, description and parameters to the form of a vendor: `openai_tool`, say."""


class Shaped:
    """The dialect *name*: *shapes* by what the model calls them; meets `nanocoder.Dialect`.

    *unknown* is what a model reads of a name that is in no shape, and *missing* of one whose tool
    is not installed, both with one place for the name. *words* are names of
    parameters of ours and what they are called here; those of tools come from the shapes. *failed*
    words failures for which a shape has no words; its default puts "Error: " before what is wrong.
    *write* is the form in which the reference sends its tools.
    """

    def __init__(
        self,
        name: str,
        shapes: Sequence[Shape],
        *,
        unknown: str = "Unknown tool: {}",
        missing: str = "",
        words: Mapping[str, str] | None = None,
        failed: Render | None = None,
        write: Write | None = None,
    ) -> None:
        self.name = name
        self._shapes = {shape.name: shape for shape in shapes}
        self._unknown = unknown
        self._missing = missing
        self._words = {shape.tool: shape.name for shape in shapes} | dict(words or {})
        self._failed = failed or (lambda _, result: f"Error: {said(result)}")
        self._write = write

    def offer(self, tools: Sequence[Tool[..., Any]]) -> list[dict[str, Any]]:
        """Return what the model is told of those of *tools* that the reference knows."""
        have = {tool.name: tool for tool in tools}
        shapes = (shape for shape in self._shapes.values() if shape.tool in have)
        return [shape.offered(have[shape.tool]) for shape in shapes]

    def wire(self, offer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an offer as the reference sends it to its model."""
        if self._write is None:
            return offer
        return self._write(offer["name"], offer["description"], offer["parameters"])

    def unknown(self, name: str) -> str:
        """Return what the model reads of a name that is in no shape."""
        return self._unknown.format(name)

    def canonical(self, call: ToolCall) -> ToolCall:
        """Translate a call; raises UnknownTool, BadArguments."""
        shape = self._shapes.get(call.name)
        if shape is None:
            raise UnknownTool(self.unknown(call.name))
        return evolve(call, name=shape.tool, arguments=shape.translated(call))

    def render(self, call: ToolCall, result: ToolResult) -> str:
        """Return the text that the model reads for the call that it made."""
        shape = self._shapes.get(call.name)
        if shape is None:
            return self.unknown(call.name)
        if result.error_class == "unknown_tool":
            return self._missing.format(call.name) or self.unknown(call.name)
        if result.is_error:
            result = evolve(result, output=in_words(result.output, self._words))
            return self._worded(shape, shape.failed or self._failed, call, result)
        # What the loop says of a repeated call has no data; neither has what a plugin changed.
        if shape.render is None or result.data is None:
            return result.output
        return self._worded(shape, shape.render, call, result)

    def _worded(self, shape: Shape, render: Render, call: ToolCall, result: ToolResult) -> str:
        try:
            return render(shape.arguments(call), result)
        except (LookupError, TypeError, ValueError, AttributeError):
            # Another plugin's tool of the same name has other data; its own text is never wrong.
            return result.output
