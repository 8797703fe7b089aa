"""Paths in arguments: which names in them are secret."""

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from nanocoder import fold_name
from nanocoder_kit_files.glob import alternatives, glob_tokens, spell_out_classes
from nanocoder_kit_files.glob.expressions import STAR, glob_expression

WHY_DENIED: Final = (
    "{!r} is the name of a secret; plugins.policy-rules.secrets and not_secrets set which names are"
)

# A file system may ignore a part of such names.
_ODD_NAME = r":|[. ](?:/|\Z)"


def globs(pattern: str) -> tuple[str, ...]:
    """Return an absolute glob as written, normal, and with the links before its first wildcard."""
    normal = "/" + os.path.normpath(pattern).lstrip("/")
    names = pattern.split("/")
    fixed = next((at for at, name in enumerate(names) if not {*"*?"}.isdisjoint(name)), len(names))
    real = real_path("/".join(names[:fixed]) or "/").rstrip("/")
    return tuple({pattern: None, normal: None, "/".join([real, *names[fixed:]]): None})


def has_wildcard(text: str) -> bool:
    """Return True if *text* is a pattern for several words or names."""
    return not {*"*?["}.isdisjoint(text)


def real_path(path: str) -> str:
    """Return *path* without links and dots, as it is where no file can be called so."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # too long, or with a NUL
        return path


def fold_path(path: str) -> str:
    """Return *path* with each of its names folded as `fold_name` does."""
    if path.isascii() and re.compile(_ODD_NAME).search(path) is None:
        return path.casefold()
    return "/".join([fold_name(name) for name in path.split("/")])


def fold_pattern(pattern: str) -> str:
    """Return a glob for paths that are folded; raises BadPattern for a class that does not exist.

    A folded name ends before a colon, so no class needs one.
    """
    return fold_path(spell_out_classes(pattern).replace(":-@", ";-@"))


def secret(paths: Iterable[str], secrets: tuple[str, ...], but: tuple[str, ...]) -> str:
    """Return the first name in *paths* that is in *secrets* and not in *but*, or ""."""
    text = "/".join(paths)
    if not text.isascii():
        text = "/".join(map(fold_name, text.split("/")))
    # All names, one in a line, so that one search covers them all.
    text = text.casefold().replace("\n", " ").replace("/", "\n")
    for match in _any_of(secrets).finditer(text):
        if not _any_of(but).match(text, match.start()):
            return match[0].rstrip(". ")
    return ""


@lru_cache(maxsize=32)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for lines that are one of the names; endings may be ignored ones."""
    bodies = map(_name_like, patterns)
    return re.compile(f"^(?:{'|'.join(bodies) or '(?!)'})[. ]*+(?::[^\n]*)?$", re.MULTILINE)


def _name_like(pattern: str) -> str:
    """Return an expression for names like *pattern*, each of them a line."""
    bodies = [
        glob_expression(
            (f"(?!\n){token}" if token != STAR else token for token in glob_tokens(each)),
            in_name="[^\n]",
        )
        for each in alternatives(fold_pattern(pattern))
    ]
    return "|".join(bodies)
