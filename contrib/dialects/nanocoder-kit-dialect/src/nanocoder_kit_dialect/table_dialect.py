"""A dialect that is a table of shapes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve
from nanocoder import Tool, ToolCall, ToolResult, UnknownTool

from nanocoder_kit_dialect.answer_text import error_text, replace_names
from nanocoder_kit_dialect.shapes import Render, Shape

Write = Callable[[str, str, Mapping[str, Any]], Mapping[str, Any]]
"""A function from name, description and parameters to the form of a vendor: `openai_tool`, say."""


class TableDialect:
    """The dialect *name* with its *shapes*; meets the protocol `nanocoder.Dialect`.

    *unknown* answers a name that is in no shape, *missing* one whose tool is not installed; both
    have one `{}` for the name. *words* map our names of parameters to the dialect's; those of tools
    come from the shapes. *render_failure* answers failures for which a shape has no function; its
    default puts "Error: " before the problem. *write* is the form in which the reference sends its
    tools.
    """

    def __init__(
        self,
        name: str,
        shapes: Sequence[Shape],
        *,
        unknown: str = "Unknown tool: {}",
        missing: str = "",
        words: Mapping[str, str] | None = None,
        render_failure: Render | None = None,
        write: Write | None = None,
    ) -> None:
        self.name = name
        self._shapes = {shape.name: shape for shape in shapes}
        self._unknown = unknown
        self._missing = missing
        self._words = {shape.tool: shape.name for shape in shapes} | dict(words or {})
        self._render_failure = render_failure or (lambda _, result: f"Error: {error_text(result)}")
        self._write = write

    def offer(self, tools: Sequence[Tool[..., Any]]) -> list[dict[str, Any]]:
        """Return the definitions of those *tools* that the reference knows."""
        have = {tool.name: tool for tool in tools}
        shapes = (shape for shape in self._shapes.values() if shape.tool in have)
        return [shape.definition(have[shape.tool]) for shape in shapes]

    def wire(self, offer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a definition as the reference sends it to its model."""
        if self._write is None:
            return offer
        return self._write(offer["name"], offer["description"], offer["parameters"])

    def unknown(self, name: str) -> str:
        """Return the answer to a name that is in no shape."""
        return self._unknown.format(name)

    def canonical(self, call: ToolCall) -> ToolCall:
        """Translate a call; raises UnknownTool, BadArguments."""
        shape = self._shapes.get(call.name)
        if shape is None:
            raise UnknownTool(self.unknown(call.name))
        return evolve(call, name=shape.tool, arguments=shape.translate(call))

    def reword(self, text: str) -> str:
        """Return a line for the model with this dialect's names of tools.

        A name of one word, such as `task`, is left: the line may mean the word.
        """
        names = {shape.tool: shape.name for shape in self._shapes.values() if "_" in shape.tool}
        return replace_names(text, names)

    def render(self, call: ToolCall, result: ToolResult) -> str:
        """Return the text that the model reads for the call that it made."""
        shape = self._shapes.get(call.name)
        if shape is None:
            return self.unknown(call.name)
        if result.error_class == "unknown_tool":
            return self._missing.format(call.name) or self.unknown(call.name)
        if result.is_error:
            result = evolve(result, output=replace_names(result.output, self._words))
            render = shape.render_failure or self._render_failure
            return self._render_safely(shape, render, call, result)
        # The loop's answer to a repeated call has no data, nor has a result that a plugin changed.
        if shape.render is None or result.data is None:
            return result.output
        return self._render_safely(shape, shape.render, call, result)

    def _render_safely(
        self, shape: Shape, render: Render, call: ToolCall, result: ToolResult
    ) -> str:
        try:
            return render(shape.arguments(call), result)
        except (LookupError, TypeError, ValueError, AttributeError):
            # Another plugin's tool of that name has other data, but its own text is always right.
            return result.output
