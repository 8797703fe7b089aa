"""Rules as they are written: `TOOL` or `TOOL(PATTERN)`, and `@AGENT` behind either.

For `bash` the pattern is words: the beginning of a command, `*` for one word, or at the end for
whatever follows. For tools with paths it is a glob of paths in the workspace, for an argument `url`
a pattern for addresses, and for others a glob of an argument. An agent is the name of a sub-agent's
profile, or `main`; a rule without one is for all.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, NamedTuple

from nanocoder import fold_name

from nanocoder_policy_rules import addresses, paths, runners
from nanocoder_policy_rules.shell import Simple, compiled
from nanocoder_policy_rules.wildcards import Glob

_NAME = r"[A-Za-z0-9_*?.-]+"
_RULE = rf"(?s)\s*({_NAME})\s*(?:\((.*)\))?\s*(?:@\s*({_NAME})\s*)?"
MAIN_AGENT: Final = "main"
SHELL: Final = "bash"
_ADDRESS: Final = "url"
_MAIN: Final = (_ADDRESS, "query", "name", "action", "pattern", "description")


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
    def is_bare(self) -> bool:
        """Tell whether this is about the tool and nothing else; `(**)` is about any path."""
        return not self.pattern and "(" not in self.text

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
    found = compiled(_RULE).fullmatch(text)
    if found is None:
        raise ValueError(
            f"rule {text!r} is not of the form TOOL, TOOL(PATTERN) or TOOL(PATTERN) @AGENT"
        )
    pattern = found[2]
    if pattern is not None and not pattern.strip():
        raise ValueError(
            f"rule {text!r} has an empty pattern; remove the brackets, or give a pattern"
        )
    said = "" if pattern in (None, "*", "**") else pattern.strip()
    return Rule(text, found[1], said, found[3] or "")


def tool_of(text: str) -> str:
    """Return the tool that a rule names, "" when it names several by a wildcard."""
    tool = rule(text).tool
    return tool if {*"*?["}.isdisjoint(tool) else ""


def allow_rule(text: str) -> Rule:
    """Read a rule that allows; raises ValueError when it could fit no command, or any."""
    made = rule(text)
    if not made.pattern or not made.names(SHELL):
        return made
    if not {*"*?["}.isdisjoint(made.words[0] if made.words else "*") and made.tool == SHELL:
        raise ValueError(f"rule {text!r} allows programs by a wildcard; name the program")
    if made.tool == SHELL and (problem := runners.problem(made.words, made.pattern)):
        raise ValueError(f"rule {text!r} can never allow a command: {problem}")
    return made


def allows_command(one: Rule, simple: Simple) -> bool:
    """Tell whether a rule names the beginning of one recognised command, and all it does."""
    return runners.fits(one.words, simple.words)


def names_path(one: Rule, spellings: Sequence[str]) -> bool:
    """Tell whether a rule's glob is for a path; without a slash it is for names at any depth."""
    if not one.pattern:
        return True
    return any(glob(one.pattern).fits(folded_path(path)) for path in spellings)


def names_place(one: Rule, places: Iterable[Sequence[str]]) -> bool:
    """Tell whether a rule's absolute glob is for one of *places*; in doubt it is."""
    globs = [glob(each) for each in paths.globs(os.path.expanduser(one.pattern))]
    return any(each.fits(folded_path(path)) for place in places for path in place for each in globs)


def folded_path(path: str) -> str:
    """Return *path* with each of its names folded."""
    return "/".join(fold_name(name) for name in path.split("/"))


def tidy(pattern: str) -> str:
    """Return a glob of paths as it is compared; without a slash it is for names at any depth."""
    pattern = folded_path(pattern.strip().removeprefix("./").rstrip("/"))
    return pattern if "/" in pattern else f"**/{pattern}"


@lru_cache(maxsize=1_024)
def glob(pattern: str) -> Glob:
    """Return the glob of *pattern*."""
    return Glob(tidy(pattern))


def names_argument(one: Rule, arguments: Mapping[str, Any], *, any_of: bool) -> bool:
    """Tell whether a rule's pattern is for the main argument, or for *any_of* them."""
    if not one.pattern:
        return True
    texts = {key: value for key, value in arguments.items() if isinstance(value, str)}
    if any_of:
        return any(_denies_argument(one, key, text) for key, text in texts.items())
    key = next((key for key in _MAIN if key in texts), "")
    if key == _ADDRESS:
        address = addresses.pattern(one.pattern)
        return address is not None and address.allows(texts[key])
    return bool(key) and fnmatchcase(texts[key], one.pattern)


def _denies_argument(one: Rule, key: str, text: str) -> bool:
    address = addresses.pattern(one.pattern) if key == _ADDRESS else None
    if address is not None and address.denies(text):
        return True
    return fnmatchcase(text, one.pattern) or fnmatchcase(text.casefold(), one.pattern.casefold())
