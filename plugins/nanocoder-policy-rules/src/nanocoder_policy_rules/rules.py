"""Rules as they are written: `TOOL` or `TOOL(PATTERN)`, and `@AGENT` behind either.

For `bash` the pattern is words: the beginning of a command, `*` for one word, or at the end for
whatever follows. For tools with paths it is a glob of paths in the workspace. For others it is a
glob of an argument. An agent is the name of a sub-agent's profile,
or `main`; a rule without one is for all.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, NamedTuple

from nanocoder_policy_rules import paths
from nanocoder_policy_rules.commands import PROGRAMS
from nanocoder_policy_rules.paths import folded
from nanocoder_policy_rules.shell import Simple, raw_segments
from nanocoder_policy_rules.wildcards import Glob

_NAME = r"[A-Za-z0-9_*?.-]+"
_RULE = re.compile(rf"\s*({_NAME})\s*(?:\((.*)\))?\s*(?:@\s*({_NAME})\s*)?", re.DOTALL)
MAIN_AGENT: Final = "main"
_MAIN: Final = ("url", "query", "name", "action", "pattern", "description")
_GAPS = re.compile(r"[\s;|&=!(){}<>,]+")
_SHORT_FLAGS = re.compile(r"-[A-Za-z]+")

# What runs other programs, or code in its arguments: for these, a rule has to say which.
RUNNERS: Final = frozenset(
    {
        *("bash", "sh", "dash", "zsh", "fish", "ksh", "busybox", "env", "sudo", "doas", "su"),
        *("nohup", "nice", "ionice", "timeout", "time", "setsid", "stdbuf", "watch", "xargs"),
        *("parallel", "flock", "chroot", "unshare", "nsenter", "strace", "ltrace", "gdb", "script"),
        *("python", "python2", "python3", "pypy3", "node", "deno", "bun", "ruby", "perl", "php"),
        *("lua", "awk", "gawk", "mawk", "nawk", "jq", "sed", "vi", "vim", "nvim", "emacs", "ed"),
        *("npx", "bunx", "uvx", "pipx", "pnpx", "tar", "zip", "ssh", "scp", "rsync", "docker"),
        *("podman", "kubectl", "find", "rg", "sort", "tcpdump", "man", "less", "more", "open"),
        *("xdg-open", "osascript", "powershell", "pwsh", "curl", "wget"),
    }
)
RUNNER_WORDS: Final = 3  # `python3 -m pytest`: the runner and what it is to run
READER_WORDS: Final = 2  # what reads is allowed anyway; a rule has to say what else it may do
# Read-only git runs programs that a repository's own configuration names, nanocoder changes what it
# may do itself; the rest is the shell's.
UNRULED: Final = frozenset(
    {
        *("git", "eval", "exec", "source", ".", "builtin", "command", "coproc", "trap", "alias"),
        *("enable", "shopt", "set", "declare", "typeset", "local", "export", "readonly", "let"),
        *("history", "fc", "hash", "bind", "complete", "unset", "read", "mapfile", "printf"),
        *("[[", "[", "test", "cd", "pushd", "popd", "nanocoder"),
    }
)


Segment = tuple[Sequence[str], bool]
"""Words, and whether the first is known to be the program."""


class Rule(NamedTuple):
    """One rule.

    *text* is as written; *pattern* is "" when every call of the tool is meant, and *agent* when
    every agent is.
    """

    text: str
    tool: str
    pattern: str
    agent: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a pattern for commands, without the `*` at its end."""
        words = tuple(self.pattern.split())
        return words[:-1] if words and words[-1] == "*" else words

    @property
    def is_absolute(self) -> bool:
        """Tell whether the pattern, as one of paths, starts at the root of the disk or at home."""
        return self.pattern.startswith(("/", "~/"))

    def names(self, tool: str) -> bool:
        """Tell whether this rule is about *tool*."""
        return self.tool == tool or fnmatchcase(tool, self.tool)

    def is_for(self, agent: str) -> bool:
        """Tell whether this rule is about *agent*, which is "" for the main one."""
        return not self.agent or fnmatchcase(agent or MAIN_AGENT, self.agent)


@lru_cache(maxsize=1_024)
def rule(text: str) -> Rule:
    """Read a rule; raises ValueError, naming it."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"rule {text!r} is not of the form TOOL, TOOL(PATTERN) or TOOL(PATTERN) @AGENT"
        )
    pattern = found[2]
    if pattern is not None and not pattern.strip():
        raise ValueError(f"rule {text!r} has an empty pattern; leave the brackets out, or say what")
    said = "" if pattern in (None, "*", "**") else pattern.strip()
    return Rule(text, found[1], said, found[3] or "")


def allow_rule(text: str) -> Rule:
    """Read a rule that allows; the program of a command must be named, not guessed at."""
    made = rule(text)
    if made.names("bash") and made.words[:1] == ("*",):
        raise ValueError(f"rule {text!r} allows programs by a wildcard; name the program")
    return made


def allows_command(one: Rule, simple: Simple) -> bool:
    """Tell whether a rule names the beginning of one recognised command, and may."""
    wanted, words = one.words, simple.words
    program = words[0]
    if program in UNRULED or len(wanted) > len(words):
        return False
    if wanted[0] != program:
        return False
    said = sum("*" not in word for word in wanted)
    if (program in RUNNERS and said < RUNNER_WORDS) or (
        program in PROGRAMS and said < READER_WORDS
    ):
        return False
    return all(fnmatchcase(word, want) for want, word in zip(wanted, words, strict=False))


def names_command(one: Rule, segments: Sequence[Segment]) -> bool:
    """Tell whether the words of a rule occur, in order, in one of *segments*."""
    return any(_occurs(one.words, segment) for segment in segments)


def segments(simples: Sequence[Simple] | None, text: str) -> list[Segment]:
    """Return the words in which to look for what is denied.

    They are those of the recognised commands, split where another command could hide in one of
    them; and all words that *text* could be hiding when it was not recognised.
    """
    if simples is None:
        return [(words, False) for words in raw_segments(text)]
    return [_segment(simple.words) for simple in simples]


def _segment(words: tuple[str, ...]) -> Segment:
    program = words[0].rpartition("/")[2]
    hides = program in RUNNERS or program in UNRULED
    if program == "git":  # a message may name anything; an alias may run it
        hides = not {"-c", "config"}.isdisjoint(words)
    return (_GAPS.split(" ".join(words)), False) if hides else (words, True)


def _occurs(wanted: tuple[str, ...], segment: Segment) -> bool:
    words, starts = segment
    if starts and wanted and wanted[0] != "*" and not _is_word(words[0], wanted[0]):
        return False
    letters = {letter for word in words if _SHORT_FLAGS.fullmatch(word) for letter in word[1:]}
    position = 0
    for want in wanted:
        if want == "*":
            continue
        if _SHORT_FLAGS.fullmatch(want) and set(want[1:]) <= letters:
            continue
        for index in range(position, len(words)):
            if _is_word(words[index], want):
                position = index + 1
                break
        else:
            return False
    return True


def _is_word(word: str, want: str) -> bool:
    return fnmatchcase(word, want) or fnmatchcase(word.rpartition("/")[2], want)


def names_path(one: Rule, spellings: Sequence[str]) -> bool:
    """Tell whether a rule's glob is for a path; without a slash it is for names at any depth."""
    if not one.pattern:
        return True
    return any(_glob(one.pattern).fits(_folded(path)) for path in spellings)


def names_place(one: Rule, places: Iterable[Sequence[str]]) -> bool:
    """Tell whether a rule's absolute glob is for one of *places*; in doubt it is."""
    globs = [_glob(each) for each in paths.globs(os.path.expanduser(one.pattern))]
    return any(glob.fits(_folded(each)) for place in places for each in place for glob in globs)


def _folded(path: str) -> str:
    return "/".join(folded(name) for name in path.split("/"))


@lru_cache(maxsize=1_024)
def _glob(pattern: str) -> Glob:
    pattern = _folded(pattern.strip().removeprefix("./").rstrip("/"))
    return Glob(pattern if "/" in pattern else f"**/{pattern}")


def names_argument(one: Rule, arguments: Mapping[str, Any], *, any_of: bool) -> bool:
    """Tell whether a rule's glob is for the main argument, or for *any_of* them."""
    if not one.pattern:
        return True
    texts = {key: value for key, value in arguments.items() if isinstance(value, str)}
    if any_of:
        return any(fnmatchcase(text, one.pattern) for text in texts.values())
    main = next((texts[key] for key in _MAIN if key in texts), None)
    return main is not None and fnmatchcase(main, one.pattern)
