"""The steps of a composed call."""

from typing import Any

from attrs import define, field
from nanocoder import ToolContext, ToolError, ToolResult


@define
class Steps:
    """Runs one step after the other; *log* has an entry for each, also for a failed one."""

    ctx: ToolContext
    log: list[dict[str, str]] = field(factory=list)

    def run(self, name: str, **arguments: Any) -> ToolResult:
        """Call a sub-tool.

        Raises: ToolError with the step's own error class when it fails.
        """
        result = self.ctx.call(name, arguments)
        self.log.append({"tool": name, "title": result.title, "error": result.error_class})
        if result.is_error:
            raise ToolError(
                f"step {len(self.log)}, {name}: {result.output}",
                error_class=result.error_class,
                data={"steps": self.log},
            )
        return result
