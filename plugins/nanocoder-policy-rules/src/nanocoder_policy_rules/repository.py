"""What a repository's own settings let git start: `git status` alone can run a program.

The settings are found as git finds them. What is in doubt counts: a question too many costs a look.
"""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from nanocoder_policy_rules.search import Segment
from nanocoder_policy_rules.shell import compiled

STARTS: Final = "that setting decides which programs git starts"
# The value of each of these keys is a program, or names one, or more settings.
_KEYS: Final = (
    *("fsmonitor", "textconv", "external", "sshcommand", "pager", "editor", "hookspath", "program"),
    *("helper", "command", "cmd", "driver", "clean", "smudge", "process", "askpass", "difffilter"),
    *("gitproxy", "uploadpack", "receivepack", "vcs", "packobjectshook", "templatedir"),
    *("alternaterefscommand", "worktreeconfig"),
)
_SECTIONS: Final = ("include", "includeif", "alias", "filter")
# A section and a key may stand on one line. A value that is a truth starts nothing; a backslash
# behind it would go on with the next line.
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
"""Hooks that commands run which only look."""

_MAKES: Final = frozenset(("init", "clone"))
_READS: Final = frozenset(("get", "--get", "--get-all", "--get-regexp", "--unset", "--list", "-l"))


class _Store(NamedTuple):
    """A directory in which git keeps a repository.

    *common* is what several worktrees share, *folder* the one that was looked at to find it.
    """

    path: str
    common: str
    folder: str


def setting_that_runs(folder: str) -> str:
    """Return the setting of the repository around *folder* that starts a program, or ""."""
    return next((found for store in _stores_above(folder) if (found := _running(store))), "")


def set_program(segment: Segment) -> str:
    """Return the key that a `git config` sets if git starts a program by it, or ""; or an option.

    By `--template` a repository gets the hooks that are in a folder.
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


def _running(store: _Store) -> str:
    for place in dict.fromkeys((store.common, store.path)):
        for name in ("config", "config.worktree"):
            text = _text(os.path.join(place, name))
            if len(text) == _MAX_BYTES:
                return name  # what follows is not looked at
            if found := compiled(_PROGRAMS).search(text):
                return str(next(filter(None, found.groups())))
            if any(not _is_here(found[1], store) for found in compiled(_PLACE).finditer(text)):
                return "worktree"
    hooks = (hook for hook in _HOOKS if os.path.exists(os.path.join(store.common, "hooks", hook)))
    return next(hooks, "")


def _is_here(place: str, store: _Store) -> bool:
    """Tell whether a setting names the directory in which the repository was found."""
    return os.path.realpath(os.path.join(store.path, place)) == os.path.realpath(store.folder)


def _stores_above(folder: str) -> Iterator[_Store]:
    """Yield each directory that git may take for the repository that *folder* is in."""
    while True:
        # A directory with a HEAD is a repository by itself, when it has no ".git".
        for place in (os.path.join(folder, ".git"), folder):
            store = _store(place, folder)
            if not os.path.isfile(os.path.join(store.path, "HEAD")):
                continue
            yield store
            if _is_whole(store):
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


def _is_whole(store: _Store) -> bool:
    """Tell whether git takes this for a repository; otherwise it looks further up."""
    if compiled(_HEAD).match(_text(os.path.join(store.path, "HEAD"))) is None:
        return False
    return all(os.path.isdir(os.path.join(store.common, name)) for name in ("objects", "refs"))


def _text(file: str) -> str:
    """Return the beginning of a file, "" when it is not there, not a file or not for us."""
    try:
        if not os.path.isfile(file):
            return ""
        with open(file, encoding="utf-8", errors="replace") as text:
            return text.read(_MAX_BYTES)
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return ""
