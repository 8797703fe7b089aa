"""Commands that set which programs git starts later. Doubt counts as yes: it costs only a look."""

from collections.abc import Sequence
from itertools import dropwhile, pairwise, takewhile
from typing import Final

from nanocoder_policy_rules.command_search import Match, Text
from nanocoder_policy_rules.computed_words import WILD
from nanocoder_policy_rules.segment import Segment
from nanocoder_policy_rules.shell import compile_once

STARTS: Final = "that setting decides which programs git starts"
# The value of each of these keys is a program, or names one, or more settings.
_KEYS: Final = (
    *("fsmonitor", "textconv", "external", "sshcommand", "pager", "editor", "hookspath", "program"),
    *("helper", "command", "cmd", "driver", "clean", "smudge", "process", "askpass", "difffilter"),
    *("gitproxy", "uploadpack", "receivepack", "vcs", "packobjectshook", "templatedir"),
    *("alternaterefscommand", "worktreeconfig", "worktree", "insteadof", "pushinsteadof"),
    *("defaultkeycommand", "httpd", "browser", "tunnel", "smtpserver", "path", "update"),
    *("sendmailcmd", "tocmd", "cccmd", "headercmd"),
)
_SECTIONS: Final = ("include", "includeif", "alias", "filter", "protocol", "pager")
# A section that gets another name may become one of these.
_RENAMES: Final = frozenset(("--rename-section", "rename-section"))
# `ext::sh -c x` is an address by which git starts a program.
_HELPER = r"[A-Za-z][\w+.-]*::.*"
_SETS_ADDRESS: Final = frozenset(("remote", "submodule", "config"))
SUBCOMMANDS: Final = frozenset(("config", "init", "clone", "remote", "submodule"))
_MAKES: Final = frozenset(("init", "clone"))
_READS: Final = frozenset(("--get", "--get-all", "--get-regexp", "--unset", "--list", "-l"))
_READING_WORDS: Final = (["get"], ["list"])
"""They count right behind `config`; behind a key they are its value."""
_OPTIONS_OF_SETTING: Final = frozenset(("-c", "--config", "--config-env"))
# Git takes hooks, or all that decides what it starts, from where these options and variables say.
_OPTION_OF_NEW: Final = r"--(?:te|sep).*"
_VARIABLE_OF_NEW: Final = r"GIT_TEMPLATE_DIR|GIT_CONFIG(?:_\w+)?"
_FEEDS: Final = frozenset(("xargs", "parallel"))
_ANY_SETTING: Final = ("git", "config", "core.hooksPath")


def setting_of_program(segment: Segment) -> str:
    """Return the key or option in *segment* that sets a program for git, or "".

    With a template a new repository gets the hooks that are in a folder, and with `clone -c` any
    setting.
    """
    if "git" in segment.vocabulary and not _MAKES.isdisjoint(segment.vocabulary):
        pairs = pairwise(("", *segment.words))
        option = next((word for before, word in pairs if _is_of_new_repository(before, word)), "")
        if option:
            return option
    if "git" in segment.vocabulary and not _SETS_ADDRESS.isdisjoint(segment.vocabulary):
        is_helper = compile_once(_HELPER).fullmatch
        if address := next(filter(is_helper, segment.words), ""):
            return address
    if not {"git", "config"} <= segment.vocabulary or _only_reads(segment.words):
        return ""
    if renaming := next(filter(_RENAMES.__contains__, segment.words), ""):
        return renaming
    if editing := _editing_option(segment.words):
        return editing
    return next(filter(_is_program, segment.words), "")


def unseen_setting(text: Text) -> str:
    """Return what in *text* may set a program for git without naming its key there, or ""."""
    if not _MAKES.isdisjoint(text.words):
        is_variable = compile_once(_VARIABLE_OF_NEW).fullmatch
        if variable := next(filter(is_variable, text.words), ""):
            return variable
    is_fed = not _FEEDS.isdisjoint(text.words)
    may_be = "config" in text.words and (is_fed or text.match(_ANY_SETTING) is Match.MAYBE)
    return "git config" if may_be else ""


def _is_of_new_repository(before: str, word: str) -> bool:
    if compile_once(_OPTION_OF_NEW).fullmatch(word):
        return True
    if before in _OPTIONS_OF_SETTING:
        return _is_program(word)
    return word[:2] == "-c" and _is_program(word[2:])


def _only_reads(words: Sequence[str]) -> bool:
    behind = list(dropwhile("config".__ne__, words))[1:]
    options = takewhile("--".__ne__, behind)
    return behind[:1] in _READING_WORDS or not _READS.isdisjoint(options)


def _editing_option(words: Sequence[str]) -> str:
    """Return the word by which `git config` starts an editor on its settings, or ""."""
    behind = list(dropwhile("config".__ne__, words))[1:]
    if behind[:1] == ["edit"]:
        return "edit"
    return next((word for word in behind if word == "-e" or word.startswith("--ed")), "")


def _is_program(key: str) -> bool:
    section, *_, last = key.casefold().split(".") if "." in key else ("", "")
    if section and "/" not in key and not WILD.isdisjoint(key):  # a file may be called so
        return True
    return section in _SECTIONS or (bool(section) and last in _KEYS)
