"""The steps of a composed call."""

from typing import Any

from attrs import define, field
from nanocoder import ToolContext, ToolError, ToolResult


@define
class Steps:
    """Takes one step after the other; *taken* tells of them, the last one may have failed."""

    ctx: ToolContext
    taken: list[dict[str, str]] = field(factory=list)

    def take(self, name: str, **arguments: Any) -> ToolResult:
        """Call a sub-tool.

        Raises: ToolError with the step's own error class when it fails.
        """
        result = self.ctx.call(name, arguments)
        self.taken.append({"tool": name, "title": result.title, "error": result.error_class})
        if result.is_error:
            raise ToolError(
                f"step {len(self.taken)}, {name}: {result.output}",
                error_class=result.error_class,
                data={"steps": self.taken},
            )
        return result
