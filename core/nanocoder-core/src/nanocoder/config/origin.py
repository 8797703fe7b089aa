"""Where a value came from."""

from typing import Literal

from attrs import frozen
from nanocoder_schema import Value

LayerName = Literal["default", "user", "project", "environment", "flag"]


@frozen(eq=False, repr=False)
class Origin(Value):
    """One value's layer, with *file* and *line*, or the *name* of a variable or a flag."""

    layer: LayerName
    file: str = ""
    line: int = 0
    name: str = ""

    def __str__(self) -> str:
        """Return it as messages show it: FILE:LINE, or the variable, or the flag."""
        if self.file:
            return f"{self.file}:{self.line}" if self.line else self.file
        return self.name or self.layer
