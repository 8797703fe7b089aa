"""The note on one parameter: its purpose and its bounds."""

from typing import NamedTuple


class Param(NamedTuple):
    """The purpose of a parameter, and the bounds of its values.

    Used as `Annotated[int, Param("Lines to read.", ge=1)]`; a plain string in `Annotated` is a
    description, too. Lengths count characters of a string, items of a list, entries of an object.
    """

    description: str = ""
    ge: float | None = None
    le: float | None = None
    gt: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
