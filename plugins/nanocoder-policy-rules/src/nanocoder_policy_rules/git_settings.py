"""Programs that a repository's own settings let git start: even `git status` can run one.

The settings are found as git finds them. Doubt counts as yes: a false alarm costs only a look.
"""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from nanocoder_policy_rules.command_search import Segment
from nanocoder_policy_rules.shell import compile_once

STARTS: Final = "that setting decides which programs git starts"
# The value of each of these keys is a program, or names one, or more settings.
_KEYS: Final = (
    *("fsmonitor", "textconv", "external", "sshcommand", "pager", "editor", "hookspath", "program"),
    *("helper", "command", "cmd", "driver", "clean", "smudge", "process", "askpass", "difffilter"),
    *("gitproxy", "uploadpack", "receivepack", "vcs", "packobjectshook", "templatedir"),
    *("alternaterefscommand", "worktreeconfig"),
)
_SECTIONS: Final = ("include", "includeif", "alias", "filter")
# A section and a key may be on one line. A boolean value starts nothing; a backslash after it would
# continue on the next line.
_PROGRAMS = (
    r"(?im)(?:^|\])[ \t]*(?:"
    rf"({'|'.join(_KEYS)})[ \t]*=(?![ \t]*(?:true|false|yes|no|on|off|[01])?[ \t]*(?:[#;]|$))"
    rf"|\[[ \t]*({'|'.join(_SECTIONS)})\b"
    r"|(update)[ \t]*=[ \t\"]*!)"
    r"|(ext)::"
)
_PLACE = r"(?im)(?:^|\])[ \t]*worktree[ \t]*=[ \t]*(.*?)[ \t]*$"
_HEAD = r"ref:[ \t]*refs/|[0-9a-f]{40}"
_MAX_BYTES: Final = 262_144
_HOOKS: Final = ("post-index-change", "reference-transaction")
"""Hooks that even reading commands run."""

_MAKES: Final = frozenset(("init", "clone"))
_READS: Final = frozenset(("get", "--get", "--get-all", "--get-regexp", "--unset", "--list", "-l"))


class _Store(NamedTuple):
    """A directory in which git keeps a repository.

    *common* is the directory that several worktrees share, *folder* the one that led to it.
    """

    path: str
    common: str
    folder: str


def setting_that_runs(folder: str) -> str:
    """Return the setting of the repository around *folder* that starts a program, or ""."""
    return next(
        (setting for store in _stores_above(folder) if (setting := _running_setting(store))), ""
    )


def setting_of_program(segment: Segment) -> str:
    """Return the key or option in *segment* that sets a program for git, or "".

    With `--template` a new repository gets the hooks that are in a folder.
    """
    if "git" in segment.vocabulary and not _MAKES.isdisjoint(segment.vocabulary):
        option = next((word for word in segment.words if word.startswith("--te")), "")
        if option:
            return option
    if not {"git", "config"} <= segment.vocabulary or not _READS.isdisjoint(segment.words):
        return ""
    return next(filter(_is_program, segment.words), "")


def _is_program(key: str) -> bool:
    section, *_, last = key.casefold().split(".") if "." in key else ("", "")
    return section in _SECTIONS or (bool(section) and last in _KEYS)


def _running_setting(store: _Store) -> str:
    for place in dict.fromkeys((store.common, store.path)):
        for name in ("config", "config.worktree"):
            text = _text(os.path.join(place, name))
            if len(text) == _MAX_BYTES:
                return name  # the rest of a huge file is not read, so it may hide a program
            if match := compile_once(_PROGRAMS).search(text):
                return str(next(filter(None, match.groups())))
            if any(not _is_here(match[1], store) for match in compile_once(_PLACE).finditer(text)):
                return "worktree"
    hooks = (hook for hook in _HOOKS if os.path.exists(os.path.join(store.common, "hooks", hook)))
    return next(hooks, "")


def _is_here(place: str, store: _Store) -> bool:
    """Tell whether a setting names the directory where the repository was found."""
    return os.path.realpath(os.path.join(store.path, place)) == os.path.realpath(store.folder)


def _stores_above(folder: str) -> Iterator[_Store]:
    """Yield each directory that git may take for the repository that *folder* is in."""
    while True:
        # Without a ".git" a directory with a HEAD is itself a repository.
        for place in (os.path.join(folder, ".git"), folder):
            store = _store(place, folder)
            if not os.path.isfile(os.path.join(store.path, "HEAD")):
                continue
            yield store
            if _is_complete(store):
                return
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _store(place: str, folder: str) -> _Store:
    if os.path.isfile(place):  # of a worktree or a submodule
        place = os.path.join(folder, _text(place).partition(":")[2].strip())
    shared = _text(os.path.join(place, "commondir")).strip()
    return _Store(place, os.path.join(place, shared) if shared else place, folder)


def _is_complete(store: _Store) -> bool:
    """Tell whether git accepts this as a repository; otherwise it searches further up."""
    if compile_once(_HEAD).match(_text(os.path.join(store.path, "HEAD"))) is None:
        return False
    return all(os.path.isdir(os.path.join(store.common, name)) for name in ("objects", "refs"))


def _text(file: str) -> str:
    """Return the beginning of a file, "" when it is missing, not a file or unreadable."""
    try:
        if not os.path.isfile(file):
            return ""
        with open(file, encoding="utf-8", errors="replace") as text:
            return text.read(_MAX_BYTES)
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return ""
