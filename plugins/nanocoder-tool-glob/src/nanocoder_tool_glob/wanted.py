"""Which files are looked for."""

from collections.abc import Callable

from attrs import frozen
from nanocoder_kit_glob import compile_glob, endings, expand_braces


@frozen
class Wanted:
    """A pattern, made ready for paths below where it starts.

    Every name that matches has one of *ends*; *is_whole* says that these decide alone, otherwise
    *matches* does. *depth* is how many levels of directories have to be gone through, 0 for all.
    """

    ends: tuple[str, ...]
    is_whole: bool
    depth: int
    matches: Callable[[str], bool]


def wanted(pattern: str) -> Wanted:
    """Read a pattern; raises BadPattern."""
    each = expand_braces(pattern)
    deep = any("**" in one.split("/") for one in each)
    return Wanted(
        ends=endings(pattern),
        is_whole=all(one in {"**", *(f"**/*{end}" for end in endings(one))} for one in each),
        depth=0 if deep else max(one.removeprefix("./").count("/") + 1 for one in each),
        matches=compile_glob(pattern),
    )
