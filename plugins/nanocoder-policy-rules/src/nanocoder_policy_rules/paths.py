"""Paths in arguments: which names in them are secret, which paths are protected."""

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from nanocoder import fold_name, named_paths
from nanocoder_kit_glob import alternatives, glob_tokens, spell_out_classes
from nanocoder_kit_glob.expressions import STAR, glob_expression

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

WHY_DENIED: Final = (
    "{!r} is the name of a secret; plugins.policy-rules.secrets and not_secrets set which names are"
)

OURS = "nanocoder's own settings decide what may run"
# How words name folders of our own settings and trust, before a shell computes where they are.
_OWN_PLACES: Final = frozenset(
    (folder, "nanocoder")
    for folder in (".config", "state", ".cache", "${xdg_config_home}", "${xdg_state_home}")
)
# Git reads these names in its directory to know which programs to start.
_DECIDING: Final = ("hooks", "config", "config.worktree", "commondir")
# A file system may ignore a part of such names.
_ODD_NAME = r":|[. ](?:/|\Z)"
LOOSENING: Final = (
    *(("nanocoder", "config", action) for action in ("trust", "set", "unset")),
    *(("nanocoder", "plugins", action) for action in ("install", "remove", "lock", "sync")),
)


def only_path(arguments: Mapping[str, Any]) -> str:
    """Return the path among *arguments* when there is exactly one, and it is no pattern; or ""."""
    paths = named_paths(arguments, patterns=False)
    return paths[0] if paths == named_paths(arguments) and len(paths) == 1 else ""


def globs(pattern: str) -> tuple[str, ...]:
    """Return an absolute glob as written, normal, and with the links before its first wildcard."""
    normal = "/" + os.path.normpath(pattern).lstrip("/")
    names = pattern.split("/")
    fixed = next((at for at, name in enumerate(names) if not {*"*?"}.isdisjoint(name)), len(names))
    real = _real("/".join(names[:fixed]) or "/").rstrip("/")
    return tuple({pattern: None, normal: None, "/".join([real, *names[fixed:]]): None})


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # too long, or with a NUL: no file is called so
        return path


def names(path: str) -> list[str]:
    """Return the components of *path* as the most forgiving file system compares them."""
    return fold_path(path).split("/")


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


def protection_of_word(word: str, resolved: "ResolvedPath") -> str:
    """Return why a word of a command, *resolved*, names something protected, or "".

    Commands often name `.git` to leave it out, and installed programs to run them. So only the
    programs and settings in `.git` count here.
    """
    if not _OWN_PLACES.isdisjoint(pairwise(names(word))):
        return OURS
    why = resolved.protection
    if why is None:
        return ""
    from nanocoder import ProtectionKind  # few words name something protected

    if why.kind in {ProtectionKind.PROGRAM, ProtectionKind.REPOSITORY}:
        return ""
    if why.kind is ProtectionKind.GIT and not any(map(_decides, resolved.names)):
        return ""
    return why.reason


def _decides(path: str) -> bool:
    """Tell whether git reads *path*, which a shell may expand, to know what to start."""
    components = names(path)
    if ".git" not in components:
        return True
    after = components[components.index(".git") + 1 :]
    return any(fnmatchcase(each, name) for name in after if name.strip("*?") for each in _DECIDING)


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
