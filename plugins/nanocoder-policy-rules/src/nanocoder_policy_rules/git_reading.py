"""Git commands that only read: their subcommands and options, as lists of what is allowed.

They run unasked where the repository starts no program: see nanocoder-kit-git.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from nanocoder_policy_rules.operands import paths_in
from nanocoder_policy_rules.reach import HERE, Reading
from nanocoder_policy_rules.shell import compile_once


class Subcommand(NamedTuple):
    """The options with which a subcommand only reads.

    *flags* are short options without a value, *valued* those with one. *long* are options as
    `--name`, or `--name=` with a value. With *content* it may show what is in files. *operands*:
    whether words without a dash may follow.
    """

    flags: str = ""
    valued: str = ""
    long: tuple[str, ...] = ()
    content: bool = False
    operands: bool = True


_FORMATS: Final = (
    *("--oneline", "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--graph"),
    *("--all", "--decorate", "--decorate=", "--no-decorate", "--format=", "--pretty=", "--reverse"),
    *("--no-merges", "--merges", "--first-parent", "--abbrev-commit", "--follow", "--no-color"),
    *("--date=", "--max-count=", "--since=", "--until=", "--after=", "--before=", "--author="),
    *("--grep=", "--patch", "--no-patch", "--summary", "--branches", "--tags", "--remotes"),
    *("--stat=", "--word-diff", "--unified=", "--find-renames", "--cc", "--topo-order", "--skip="),
)
_DIFFS: Final = (
    *("--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--cached", "--staged"),
    *("--word-diff", "--no-color", "--check", "--summary", "--unified=", "--ignore-all-space"),
    *(
        "--ignore-space-change",
        "--minimal",
        "--patience",
        "--histogram",
        "--diff-filter=",
        "--stat=",
    ),
    *("--no-ext-diff", "--no-textconv", "--find-renames", "--exit-code", "--quiet", "--merge-base"),
)
SUBCOMMANDS: Final = {
    "status": Subcommand(
        "sbvzu",
        long=(
            *("--short", "--branch", "--porcelain", "--porcelain=", "--ignored", "--long"),
            *("--untracked-files", "--untracked-files=", "--show-stash", "--ahead-behind"),
        ),
    ),
    "log": Subcommand("pisw", "nSGU", _FORMATS, content=True),
    "show": Subcommand("psw", "nU", _FORMATS, content=True),
    "diff": Subcommand("pwbzMR", "U", _DIFFS, content=True),
    "blame": Subcommand("wesfMC", "L", ("--date=", "--show-email", "--porcelain"), content=True),
    "branch": Subcommand(
        "avr",
        long=("--all", "--list", "--show-current", "--remotes", "--verbose", "--no-color"),
        operands=False,
    ),
    "tag": Subcommand("l", "n", ("--list", "--sort="), operands=False),
    "remote": Subcommand("v", long=("--verbose",), operands=False),
    "ls-files": Subcommand(
        "comdstuz",
        long=("--cached", "--others", "--modified", "--deleted", "--exclude-standard", "--stage"),
    ),
    "ls-tree": Subcommand("rtldz", long=("--name-only", "--long", "--full-tree")),
    "rev-parse": Subcommand(
        long=(
            *("--abbrev-ref", "--short", "--short=", "--show-toplevel", "--git-dir", "--verify"),
            *("--is-inside-work-tree", "--show-prefix", "--symbolic-full-name"),
        ),
    ),
    "rev-list": Subcommand("", "n", ("--count", "--all", "--max-count=", "--since=", "--merges")),
    "shortlog": Subcommand("sne", long=("--summary", "--numbered", "--email", "--all", "--since=")),
    "describe": Subcommand(
        "", "", ("--tags", "--always", "--dirty", "--all", "--abbrev=", "--long")
    ),
    "merge-base": Subcommand("a", long=("--all", "--is-ancestor")),
    "name-rev": Subcommand(long=("--name-only",)),
    "cat-file": Subcommand("tsep", content=True),
    "count-objects": Subcommand("vH", operands=False),
    "reflog": Subcommand("", "n", ("--oneline", "--date=", "--max-count="), operands=False),
    "grep": Subcommand(
        "nilcvwhHEFGPI", "eABC", ("--count", "--line-number", "--ignore-case"), content=True
    ),
}
_BEFORE: Final = frozenset(("--no-pager", "--no-optional-locks", "-P"))
_LISTINGS: Final = {"stash": ("list",), "worktree": ("list",)}
# A format that checks a signature starts gpg.
_SIGNED: Final = "%G"
_COUNT: Final = r"-[0-9]{1,9}"


def is_safe(words: Sequence[str], reading: Reading, directory: str = HERE) -> bool:
    """Tell whether a git command only reads, in a repository that starts nothing."""
    place, rest = _place(words, directory)
    if not rest or not (place == directory or reading.may_read(place, HERE)):
        return False
    name, *arguments = rest
    if tuple(arguments) == _LISTINGS.get(name):
        return reading.is_plain_repository(place)
    subcommand = SUBCOMMANDS.get(name)
    operands = None if subcommand is None else _operands(subcommand, arguments)
    if subcommand is None or operands is None or (operands and not subcommand.operands):
        return False
    parts = (part for word in operands for part in paths_in(word) if part)
    if not all(reading.may_read(part, place) for part in parts):
        return False
    return reading.is_plain_repository(
        place, showing=(name, *arguments) if subcommand.content else ()
    )


def _place(words: Sequence[str], directory: str) -> tuple[str, Sequence[str]]:
    """Return where git works, and its subcommand with what follows; nothing where that is open."""
    at = 1
    while at < len(words) and words[at] in _BEFORE:
        at += 1
    if words[at : at + 1] == ["-C"] or words[at : at + 1] == ("-C",):
        folder = "".join(words[at + 1 : at + 2])
        if directory != HERE or not folder:
            return directory, ()
        directory, at = folder, at + 2
    return directory, words[at:]


def _operands(subcommand: Subcommand, words: Sequence[str]) -> list[str] | None:
    """Return the operands; None when an option is not on the list."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return operands + list(rest)
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif not _is_listed(subcommand, word, rest):
            return None
    return operands


def _is_listed(subcommand: Subcommand, word: str, rest: Iterator[str]) -> bool:
    if _SIGNED in word:
        return False
    if word.startswith("--"):
        return _is_long(subcommand, word, rest)
    if "n" in subcommand.valued and compile_once(_COUNT).fullmatch(word):
        return True
    for at, letter in enumerate(word[1:], 2):
        if letter in subcommand.valued:
            return bool(word[at:]) or next(rest, None) is not None
        if letter not in subcommand.flags:
            return False
    return True


def _is_long(subcommand: Subcommand, word: str, rest: Iterator[str]) -> bool:
    name, is_joined, _ = word.partition("=")
    if not is_joined and name in subcommand.long:
        return True
    if f"{name}=" not in subcommand.long:
        return False
    value = "" if is_joined else next(rest, None)
    return value is not None and _SIGNED not in value
