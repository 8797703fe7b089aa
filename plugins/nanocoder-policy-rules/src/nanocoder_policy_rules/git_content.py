"""Which contents a git command may show: of files in the index, in HEAD, or in other commits."""

import os
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from nanocoder_policy_rules import git_words
from nanocoder_policy_rules.shell import compile_once


class Scope(IntEnum):
    """Where the contents come from; each scope includes those before it."""

    INDEX = 1
    HEAD = 2
    HISTORY = 3


class Content(NamedTuple):
    """What a command may show: from where, of which named *revisions*, and below which *paths*.

    Without paths it may be any file. *hashes* are words that could be the hash of any object.
    """

    scope: Scope
    revisions: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


_OF_FILES: Final = frozenset(("blame", "annotate", "checkout-index", "diff-files"))
"""They show files that a word names, or those of the index."""
_OF_INDEX: Final = frozenset(("diff", "difftool", "grep"))
"""They show commits only where a word names one."""
_CACHED: Final = ("--cached", "--staged")
_HEADS: Final = frozenset(("HEAD", "@"))
_PLAIN_REVISION: Final = r"(?:HEAD|@)(?:[~^][0-9]*)*"
_PATCH_LETTERS: Final = frozenset("puSGULcm")
_PATCH_OPTIONS: Final = ("--patch", "--unified", "--word-diff", "--cc", "--pickaxe", "--full-diff")
_VALUED: Final = frozenset(
    (
        *("-n", "-S", "-G", "--max-count", "--skip", "--since", "--until", "--after", "--before"),
        *("--author", "--grep"),
    )
)
_ALONE: Final = frozenset(
    (
        *("-p", "-u", "-w", "-b", "-s", "-v", "--patch", "--cached", "--staged", "--oneline"),
        *("--follow", "--graph", "--all", "--no-color", "--no-merges", "--reverse"),
        *git_words.ONLY_NAMES,
    )
)
"""Options that take no value."""
_PATTERN: Final = r"-[a-zA-Z]*[ef]"
_NAME: Final = r"\^?([^~^:@{]+)"
_RANGE: Final = r"\.{2,3}"
_HASH: Final = r"(?:.*-g)?([0-9a-fA-F]{4,40})"
_LITERAL: Final = r"[^:*?\[\\][^*?\[\\]*"


def content_of(words: Sequence[str], folder: str) -> Content | None:
    """Return what a git command in *folder* shows; *words* begin with the subcommand.

    None when it shows only names, counts and messages. Doubt counts as more.
    """
    name, *arguments = words
    if name == "log" and not _has_patches(arguments):
        return None
    operands, paths = _split(name, arguments, folder)
    if name in {"diff", "show"} and _shows_only_names(name, arguments, operands):
        return None
    scope = _scope(name, arguments, operands)
    if _is_value(arguments):
        operands, paths, scope = [*operands, *paths], [], Scope.HISTORY
    parts = [part for word in operands for part in _revisions(word)]
    matches = {part: compile_once(_HASH).fullmatch(part) for part in parts}
    hashes = tuple(match[1].lower() for match in matches.values() if match)
    parts = [part for part, match in matches.items() if not match]
    if hashes or any(":" in word for word in operands) or not _are_limits(name, arguments, paths):
        paths = []
    return Content(scope, tuple(parts), hashes, tuple(paths))


def _has_patches(arguments: Sequence[str]) -> bool:
    for word in arguments:  # behind `--`, too, which can be the value of an option
        if word.startswith("--"):
            if word.startswith(_PATCH_OPTIONS):
                return True
        elif word.startswith("-") and not _PATCH_LETTERS.isdisjoint(word):
            return True
    return False


def _shows_only_names(name: str, arguments: Sequence[str], operands: Sequence[str]) -> bool:
    """Tell whether a comparison is only counted; `git show --stat` shows a file that it gets."""
    if git_words.ONLY_NAMES.isdisjoint(arguments) or _has_patches(arguments):
        return False
    return name == "diff" or all(map(compile_once(_PLAIN_REVISION).fullmatch, operands))


def _split(name: str, arguments: Sequence[str], folder: str) -> tuple[list[str], list[str]]:
    """Return the words that may be revisions, and those that are paths."""
    before, after = _at_dashes(arguments)
    operands = list(_operands(name, before))
    if name == "grep" and not any(map(compile_once(_PATTERN).match, before)):
        if not operands:  # `--` comes before the pattern
            before, after = _at_dashes(after or ())
            operands = list(before)
        operands = operands[1:]
    if after is not None:
        return operands, list(after)
    # Git refuses a word that is both.
    paths = [word for word in operands if os.path.lexists(os.path.join(folder, word))]
    return [word for word in operands if word not in paths], paths


def _at_dashes(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str] | None]:
    """Split *words* at the first `--`; None without it."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _is_value(arguments: Sequence[str]) -> bool:
    """Tell whether the first `--` could be the value of the option before it."""
    at = arguments.index("--") if "--" in arguments else 0
    return at > 0 and arguments[at - 1].startswith("-") and arguments[at - 1] not in _ALONE


def _are_limits(name: str, arguments: Sequence[str], paths: Sequence[str]) -> bool:
    """Tell whether *paths* surely limit what is shown: all are paths, and git takes them literally.

    A word behind an option may be its value.
    """
    if name == "commit" or "--follow" in arguments:
        return False
    if "--" not in arguments:
        behind = {word for option, word in pairwise(arguments) if option.startswith("-")}
        if not behind.isdisjoint(paths):
            return False
    return all(map(compile_once(_LITERAL).fullmatch, paths))


def _operands(name: str, words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield word
        elif name in {"log", "show"} and word in _VALUED:
            next(rest, None)


def _scope(name: str, arguments: Sequence[str], operands: Sequence[str]) -> Scope:
    if name in _OF_FILES:
        return Scope.INDEX
    if name == "commit" and "--amend" not in arguments:
        return Scope.HEAD
    if name not in _OF_INDEX or not _HEADS.issuperset(operands):
        return Scope.HISTORY
    long = [word.partition("=")[0] for word in arguments if word.startswith("--") and word[2:]]
    if any("--merge-base".startswith(word) for word in long):
        return Scope.HISTORY
    is_cached = any(option.startswith(word) for word in long for option in _CACHED)
    return Scope.HEAD if operands or is_cached else Scope.INDEX


def _revisions(word: str) -> Iterator[str]:
    """Yield the names of commits in a word such as `^a~2`, `a..b` or `a:file`."""
    for part in compile_once(_RANGE).split(word):
        match = compile_once(_NAME).match(part)
        if match and not match[1].startswith("-"):  # that would be an option
            yield match[1]
