"""Commands that set which programs git starts later. Doubt counts as yes: it costs only a look."""

from typing import Final

from nanocoder_policy_rules.command_search import Segment
from nanocoder_policy_rules.shell import compile_once

STARTS: Final = "that setting decides which programs git starts"
# The value of each of these keys is a program, or names one, or more settings.
_KEYS: Final = (
    *("fsmonitor", "textconv", "external", "sshcommand", "pager", "editor", "hookspath", "program"),
    *("helper", "command", "cmd", "driver", "clean", "smudge", "process", "askpass", "difffilter"),
    *("gitproxy", "uploadpack", "receivepack", "vcs", "packobjectshook", "templatedir"),
    *("alternaterefscommand", "worktreeconfig", "worktree", "insteadof", "pushinsteadof"),
)
_SECTIONS: Final = ("include", "includeif", "alias", "filter", "protocol")
# A section that gets another name may become one of these.
_RENAMES: Final = frozenset(("--rename-section", "rename-section"))
# `ext::sh -c x` is an address by which git starts a program.
_HELPER = r"[A-Za-z][\w+.-]*::.*"
_SETS_ADDRESS: Final = frozenset(("remote", "submodule", "config"))
SUBCOMMANDS: Final = frozenset(("config", "init", "clone", "remote", "submodule"))
_MAKES: Final = frozenset(("init", "clone"))
_READS: Final = frozenset(("get", "--get", "--get-all", "--get-regexp", "--unset", "--list", "-l"))


def setting_of_program(segment: Segment) -> str:
    """Return the key or option in *segment* that sets a program for git, or "".

    With `--template` a new repository gets the hooks that are in a folder.
    """
    if "git" in segment.vocabulary and not _MAKES.isdisjoint(segment.vocabulary):
        option = next((word for word in segment.words if word.startswith("--te")), "")
        if option:
            return option
    if "git" in segment.vocabulary and not _SETS_ADDRESS.isdisjoint(segment.vocabulary):
        is_helper = compile_once(_HELPER).fullmatch
        if address := next(filter(is_helper, segment.words), ""):
            return address
    if not {"git", "config"} <= segment.vocabulary or not _READS.isdisjoint(segment.words):
        return ""
    if renaming := next(filter(_RENAMES.__contains__, segment.words), ""):
        return renaming
    return next(filter(_is_program, segment.words), "")


def _is_program(key: str) -> bool:
    section, *_, last = key.casefold().split(".") if "." in key else ("", "")
    return section in _SECTIONS or (bool(section) and last in _KEYS)
