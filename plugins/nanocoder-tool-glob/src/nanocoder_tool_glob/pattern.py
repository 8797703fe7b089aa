"""A glob, compiled for a walk over files."""

from collections.abc import Callable

from attrs import frozen
from nanocoder_kit_files.glob import compile_glob, endings, expand_braces


@frozen
class FilePattern:
    """A compiled pattern for paths below the directory where it starts.

    Every name that matches has one of *ends*; with *ends_decide* these are sufficient, otherwise
    *matches* decides. *depth* is the number of levels of directories to walk, 0 for all.
    """

    ends: tuple[str, ...]
    ends_decide: bool
    depth: int
    matches: Callable[[str], bool]


def compile_pattern(pattern: str) -> FilePattern:
    """Read a pattern; raises BadPattern."""
    alternatives = expand_braces(pattern)
    deep = any("**" in alternative for alternative in alternatives)
    match = compile_glob(pattern).fullmatch

    def matches(path: str) -> bool:
        return match(path) is not None

    return FilePattern(
        ends=endings(pattern),
        ends_decide=all(
            alternative in {"**", *(f"**/*{end}" for end in endings(alternative))}
            for alternative in alternatives
        ),
        depth=0
        if deep
        else max(alternative.removeprefix("./").count("/") + 1 for alternative in alternatives),
        matches=matches,
    )
