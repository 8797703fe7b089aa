"""The settings of tool-search."""

from typing import Annotated

from attrs import field
from nanocoder import Param, value


@value
class Settings:
    """The keys of `[plugins.tool-search]`."""

    max_results: Annotated[int, Param(ge=1)] = field(
        default=5, metadata={"description": "The most tools that one search by words finds."}
    )
    always: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": "Tools in every request, in place of those that are meant to be there."
        },
    )
