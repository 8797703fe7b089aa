"""The words of git commands: subcommands, options, and options that run programs."""

from collections.abc import Sequence
from typing import Final

from nanocoder_policy_rules.shell import compile_once

# Options of git itself, before its subcommand.
_ALONE: Final = frozenset(
    (
        *("-P", "--no-pager", "-p", "--paginate", "--bare", "--no-replace-objects", "--version"),
        *("--literal-pathspecs", "--no-optional-locks", "--help", "--no-advice"),
    )
)
_VALUED: Final = frozenset(("-C", "--git-dir", "--work-tree", "--namespace"))
# The arguments of these are names, messages and paths; those of others can be commands.
_PLAIN: Final = frozenset(
    (
        *("add", "am", "apply", "blame", "branch", "checkout", "cherry-pick", "clean", "clone"),
        *("commit", "describe", "diff", "fetch", "format-patch", "gc", "init", "log", "ls-files"),
        *("ls-remote", "ls-tree", "merge", "mv", "notes", "pull", "push", "reflog", "remote"),
        *("reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show", "stash"),
        *("status", "switch", "tag", "worktree", "cat-file", "show-ref", "for-each-ref", "grep"),
    )
)
# They start a program, write a file, or change which program git starts.
RUNS: Final = (
    *("--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--open-files-in-pager"),
    *("--output", "--config", "--config-env", "--exec-path", "--template", "--extcmd"),
    *("--textconv", "--interactive"),
)
_SHOWING: Final = frozenset(
    (
        *("diff", "show", "log", "blame", "annotate", "grep", "archive", "format-patch", "stash"),
        *("cat-file", "whatchanged", "range-diff", "fast-export", "reflog", "diff-tree", "bundle"),
        *("diff-index", "diff-files", "checkout-index", "difftool", "commit"),
    )
)
_PATCHES: Final = r"-p|-u|--patch.*|-[SGL].*|-U.*|--unified.*|--word-diff.*|--cc|-c|-m"
_VERBOSE: Final = r"-[a-zA-Z]*v[a-zA-Z]*|--verb.*"
ONLY_NAMES: Final = frozenset(
    ("--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--quiet", "--no-patch")
)
RUNS_SHORT: Final = {"clone": "cu", "grep": "O", "rebase": "xi", "difftool": "x"}


def subcommand_at(words: Sequence[str]) -> int:
    """Return the subcommand's position; 0 after an option that is unknown or runs something."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        name, is_joined, _ = words[at].partition("=")
        if name in _VALUED:
            at += 1 if is_joined else 2
        elif name in _ALONE and not is_joined:
            at += 1
        else:
            return 0
    return at if at < len(words) else 0


def plain_words(words: Sequence[str]) -> tuple[Sequence[str], int] | None:
    """Return git, its subcommand and the rest, and how many of them are known.

    None when an argument can be a program.
    """
    at = subcommand_at(words)
    if not at or words[at] not in _PLAIN or running_option(words[at:]):
        return None
    return ["git", *words[at:], *words[1:at]], 2


def running_option(words: Sequence[str]) -> str:
    """Return the option of a subcommand by which git runs or writes something else, or ""."""
    letters = RUNS_SHORT.get(words[0], "")
    for word in words[1:]:
        if word == "--":
            return ""
        if word.startswith("--"):
            name = word.partition("=")[0]
            if any(option.startswith(name) for option in RUNS):
                return word
        elif word.startswith("-") and word[1:2] and word[1] in letters:
            return word
    return ""


def showing_words(words: Sequence[str]) -> Sequence[str]:
    """Return the part of a git command from the subcommand on that shows what is in files."""
    return words[next(at for at, word in enumerate(words) if at and word in _SHOWING) :]


def shows_content(words: Sequence[str]) -> bool:
    """Tell whether a git command may put out what is in files, of a commit or of the index."""
    name = next((word for word in words[1:] if word in _SHOWING), "") if "git" in words else ""
    if name in {"log", "reflog", "stash"}:
        return any(map(compile_once(_PATCHES).fullmatch, words))
    if name == "commit":
        return any(map(compile_once(_VERBOSE).fullmatch, words))
    return bool(name) and ONLY_NAMES.isdisjoint(words)
