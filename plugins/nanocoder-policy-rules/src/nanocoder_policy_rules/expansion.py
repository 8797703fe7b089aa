"""Wildcards in the words of a command, expanded as the shell does."""

import glob
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from nanocoder_policy_rules.shell_words import Word

MAX_EXPANDED: Final = 1_000


def expand(words: Iterable[Word], folder: str) -> list[str] | None:
    """Return *words* with the globs expanded as the shell does; None for too many names."""
    expanded = list[str]()
    for word in words:
        if not word.has_glob:
            expanded.append(word.text)
            continue
        names = [*islice(_matching(word.text, folder), MAX_EXPANDED + 1)]
        # A name that begins with "-" would become an option.
        if len(names) > MAX_EXPANDED or any(name.startswith("-") for name in names):
            return None
        expanded += sorted(names) or [word.text]
    return expanded


def _matching(pattern: str, folder: str) -> Iterator[str]:
    if "**" in pattern or "[[" in pattern:
        # One star for the shell, and classes that Python does not know.
        return iter([pattern] * (MAX_EXPANDED + 1))
    return glob.iglob(pattern, root_dir=folder)
