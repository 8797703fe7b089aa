"""Find the branches that a shell command pushes to, as far as its text tells."""

import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

EVERY_BRANCH = "every branch"
SEPARATORS = frozenset(";&|()\n")
WRAPPERS = frozenset({"command", "env", "exec", "nice", "nohup", "sudo", "time", "xargs"})
SHELLS = frozenset({"bash", "dash", "sh", "zsh"})
GIT_OPTIONS_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
PUSH_OPTIONS_WITH_VALUE = frozenset({"-o", "--push-option", "--repo", "--receive-pack", "--exec"})
ALL_BRANCHES = frozenset({"--all", "--branches", "--mirror"})
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
MAX_DEPTH = 4
MAX_COMMAND_CHARS = 20_000
"""Limit of a command to parse: splitting a longer one would take too long."""


class Unreadable(Exception):
    """The target of the push is not in the text; the message has the reason."""


def protected_by(branch: str, patterns: Sequence[str]) -> str:
    """Return the pattern that protects *branch*, or nothing."""
    if branch == EVERY_BRANCH:
        return ", ".join(patterns)
    return next((pattern for pattern in patterns if fnmatchcase(branch, pattern)), "")


def pushed_branches(command: str, depth: int = 0) -> list[str]:
    """Return the branches that *command* pushes to; raises Unreadable if that is uncertain."""
    try:
        words = _words(command)
    except ValueError as error:
        if "git" in command and "push" in command:
            raise Unreadable(str(error)) from error
        return []
    return [branch for part in _commands(words) for branch in _branches(part, depth)]


def _words(command: str) -> list[str]:
    """Split as a shell does; operators, line ends and back quotes become words of their own."""
    if len(command) > MAX_COMMAND_CHARS:
        raise ValueError(f"the command is longer than {MAX_COMMAND_CHARS:,} characters")
    plain = (
        command.replace("\\\n", " ").replace("\n", " ; ").replace("`", " ; ").replace("$(", " ( ")
    )
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _commands(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of each simple command."""
    current: list[str] = []
    for word in words:
        if word and set(word) <= SEPARATORS:
            yield current
            current = []
        else:
            current.append(word)
    yield current


def _branches(words: list[str], depth: int) -> list[str]:
    words = _unwrap(words)
    if not words:
        return []
    program = words[0].rpartition("/")[2]
    if program in {*SHELLS, "eval"}:
        if depth == MAX_DEPTH:
            raise Unreadable("shells start shells start shells")
        inner = [word for word in words[1:] if not word.startswith("-")]
        return [branch for script in inner for branch in pushed_branches(script, depth + 1)]
    if program != "git":
        return []
    arguments = _after_options(words[1:], GIT_OPTIONS_WITH_VALUE)
    if not arguments or arguments[0] != "push":
        return []
    return _push_destinations(arguments[1:])


def _unwrap(words: list[str]) -> list[str]:
    """Take away assignments, redirections' words and programs that only start another one."""
    rest = list(words)
    while rest:
        if ASSIGNMENT.match(rest[0]) or rest[0] in {"!", "{", "then", "do", "else", "if", "while"}:
            rest = rest[1:]
        elif rest[0].rpartition("/")[2] in WRAPPERS:
            rest = _after_options(rest[1:], frozenset({"-u", "-n", "-g"}))
        else:
            return rest
    return []


def _after_options(words: Sequence[str], with_value: frozenset[str]) -> list[str]:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in with_value else rest[1:]
    return rest


def _push_destinations(words: Sequence[str]) -> list[str]:
    if ALL_BRANCHES & set(words):
        return [EVERY_BRANCH]
    plain: list[str] = []
    rest = list(words)
    while rest:
        rest = _after_options(rest, PUSH_OPTIONS_WITH_VALUE)
        if rest:
            plain.append(rest.pop(0))
    if len(plain) < 2:  # noqa: PLR2004 - a remote and at least one branch
        raise Unreadable("it names no branch, so the current one is pushed")
    return [_destination(refspec) for refspec in plain[1:] if not refspec.startswith("refs/tags/")]


def _destination(refspec: str) -> str:
    """Return the branch on the other side: the part behind the colon, else the name itself."""
    branch = refspec.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/")
    if branch in {"HEAD", "@"} or set("$*?[{~^") & set(branch):
        raise Unreadable(f"{branch!r} may be any branch")
    return branch
