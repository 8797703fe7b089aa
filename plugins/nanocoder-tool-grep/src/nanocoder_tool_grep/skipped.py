"""The files that a search did not look at."""

from attrs import define, field
from nanocoder_kit_glob.left_out import LeftOut


@define
class SkippedFiles:
    """*left_out* are files that policies hide; *unreadable* counts those that the system refuses.

    *too_large* counts files that are too large to be searched across lines.
    """

    left_out: LeftOut = field(factory=LeftOut)
    unreadable: int = 0
    too_large: int = 0
