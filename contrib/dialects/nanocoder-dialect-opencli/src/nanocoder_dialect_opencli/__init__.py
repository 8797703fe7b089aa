"""The dialect opencli: file_path, composed tools with one confirmation, failures as JSON."""

from collections.abc import Sequence
from typing import Any

from nanocoder import Dialect, Tool, hookimpl
from nanocoder_kit_dialect import TableDialect

from nanocoder_dialect_opencli.shapes import SHAPES
from nanocoder_dialect_opencli.texts import describe_failure, failure_object


class OpenCLI(TableDialect):
    """The dialect opencli; its definitions include confirmation and composition of tools."""

    def unknown(self, name: str) -> str:
        """Return the failure for a name that is in no shape."""
        return failure_object(f"unknown tool: {name}")

    def offer(self, tools: Sequence[Tool[..., Any]]) -> list[dict[str, Any]]:
        """Return the definitions of the tools, with the fields of the reference."""
        have = {tool.name: tool for tool in tools}
        real = {shape.name: have.get(shape.tool) for shape in SHAPES}
        return [
            offer | _fields(tool)
            for offer in super().offer(tools)
            if (tool := real[offer["name"]]) is not None
        ]


@hookimpl
def nanocoder_dialects() -> list[Dialect]:
    """Offer the dialect opencli."""
    return [OpenCLI("opencli", SHAPES, render_failure=describe_failure)]


def _fields(tool: Tool[..., Any]) -> dict[str, Any]:
    names = {shape.tool: shape.name for shape in SHAPES}
    return {
        "readonly": tool.is_read_only,
        "requires_confirmation": not tool.is_read_only,
        "composed_of": [names.get(name, name) for name in tool.composed_of],
        # "atomic" here means one question for all steps; all-or-nothing is `transactional`.
        "atomic": tool.single_confirmation,
    }
