"""Which files are looked for."""

import re
from collections.abc import Callable

from attrs import frozen
from nanocoder_kit_glob import compile_glob, expand_braces


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

    @property
    def is_anything(self) -> bool:
        """Whether the end of a name rules nothing out."""
        return "" in self.ends


def wanted(pattern: str) -> Wanted:
    """Read a pattern; raises BadPattern."""
    each = expand_braces(pattern)
    ends = [_end(one) for one in each]
    deep = any("**" in one.split("/") for one in each)
    return Wanted(
        ends=tuple(dict.fromkeys(ends)),
        is_whole=all(one in {"**", f"**/*{end}"} for one, end in zip(each, ends, strict=True)),
        depth=0 if deep else max(one.removeprefix("./").count("/") + 1 for one in each),
        matches=compile_glob(pattern),
    )


def _end(pattern: str) -> str:
    """Return how every name that matches *pattern* ends; "" when that is not known."""
    end = re.split(r"[*?\]/]", pattern)[-1]
    return "" if set(end) & set("[\\") else end
