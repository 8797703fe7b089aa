"""List the arguments of a call that are paths, for admission, tools and policies."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_PATTERNS: Final = frozenset(("glob", "include"))
_FOLDERS: Final = frozenset(("workdir", "cwd", "directory", "dir", "root"))
_FILES: Final = frozenset(
    (
        *("path", "paths", "file", "files", "file_path", "file_paths", "filename"),
        *("source", "destination", "target", "src", "dst", "old_path", "new_path"),
    )
)
PATH_ARGUMENTS: Final = _FILES | _FOLDERS | _PATTERNS
"""The names of arguments that hold paths, or patterns for them."""
_PATCHES: Final = frozenset(("patch", "input", "diff"))
_NOTHING: Final = "/dev/null"
# As text: `re` compiles it at its first use, and caches it.
_PATCHED: Final = (
    r"(?m)^--- ([^\t\n]+).*\n\+\+\+ ([^\t\n]+)"
    r"|^(?:[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): |rename (?:from|to) |\+\+\+ |--- )"
    r"([^\t\n]+)"
    r"|^diff --git a/([^\n]+) b/\4\r?$"
)


def named_paths(
    arguments: Mapping[str, Any], *, patterns: bool = True, folders: bool = True
) -> list[str]:
    """Return every path among *arguments*, including nested ones and those in patches.

    Without *patterns* those of `glob` and `include` are omitted, without *folders* working
    directories such as `workdir`.
    """
    left_out = (frozenset() if patterns else _PATTERNS) | (frozenset() if folders else _FOLDERS)
    return [path for path, name in _named(arguments) if name not in left_out]


def _named(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, argument) for each path in *value*."""
    if isinstance(value, str):
        if key in PATH_ARGUMENTS:
            yield value, key
        elif key in _PATCHES:
            yield from ((path, key) for path in _in_patch(value))
    elif isinstance(value, dict | Mapping):  # a check for Mapping alone takes longer
        for name, inner in value.items():
            # A path argument holds only paths, by any name.
            is_known = name in PATH_ARGUMENTS or name in _PATCHES or key not in PATH_ARGUMENTS
            yield from _named(inner, name if is_known else key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _named(inner, key)


def _in_patch(patch: str) -> Iterator[str]:
    for old, new, other, single in re.findall(_PATCHED, patch):
        if single:  # a file that is created or deleted without a hunk
            yield single.partition("\t")[0].strip()
            continue
        sides = (old, new)
        # git's prefixes count only if both sides have theirs: a directory may be called "b".
        if _has_prefix(old, "a/") and _has_prefix(new, "b/"):
            sides = (old.removeprefix("a/"), new.removeprefix("b/"))
        # The old side of a new file is no path; the new side of a deleted one counts, and asks.
        was, becomes = (other or side for side in sides)
        if was.strip() != _NOTHING:
            yield was.strip()
        yield becomes.strip()


def _has_prefix(path: str, prefix: str) -> bool:
    return path.startswith(prefix) or path.strip().startswith(_NOTHING)
