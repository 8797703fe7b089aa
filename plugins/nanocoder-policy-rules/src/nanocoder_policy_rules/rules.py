"""Rules as they are written: `TOOL` or `TOOL(PATTERN)`, and `@AGENT` after either.

For `bash` the pattern is words: the beginning of a command, `*` for one word, or at the end for
any words. For tools with paths it is a glob of paths in the workspace, for an argument `url`
a pattern for addresses, and for others a glob of an argument. An agent is the name of a sub-agent's
profile, or `main`; a rule without one is for all.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, NamedTuple

from nanocoder import fold_name

from nanocoder_policy_rules import addresses, paths, runners
from nanocoder_policy_rules.shell import Simple, compile_once
from nanocoder_policy_rules.wildcards import compile_glob

_NAME = r"[A-Za-z0-9_*?.-]+"
_RULE = rf"(?s)\s*({_NAME})\s*(?:\((.*)\))?\s*(?:@\s*({_NAME})\s*)?"
MAIN_AGENT: Final = "main"
SHELL: Final = "bash"
_ADDRESS: Final = "url"
_MAIN: Final = (_ADDRESS, "query", "name", "action", "pattern", "description")


class Rule(NamedTuple):
    """One rule.

    *text* is as written; *pattern* is "" for every call of the tool, *agent* is "" for every agent.
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
        """Tell whether the rule has only a tool; `(**)` is about any path."""
        return not self.pattern and "(" not in self.text

    @property
    def is_absolute(self) -> bool:
        """Tell whether the pattern, as one of paths, starts at the root of the disk or at home."""
        return self.pattern.startswith(("/", "~/"))

    def names(self, tool: str) -> bool:
        """Tell whether this rule is about *tool*."""
        return self.tool == tool or fnmatchcase(tool, self.tool)

    def is_for(self, agent: str) -> bool:
        """Tell whether this rule is about *agent*, which is "" for the main rule."""
        return not self.agent or fnmatchcase(agent or MAIN_AGENT, self.agent)


@lru_cache(maxsize=1_024)
def rule(text: str) -> Rule:
    """Parse a rule; raises ValueError, naming it."""
    match = compile_once(_RULE).fullmatch(text)
    if match is None:
        raise ValueError(
            f"rule {text!r} is not of the form TOOL, TOOL(PATTERN) or TOOL(PATTERN) @AGENT"
        )
    pattern = match[2]
    if pattern is not None and not pattern.strip():
        raise ValueError(
            f"rule {text!r} has an empty pattern; remove the brackets, or give a pattern"
        )
    pattern_text = "" if pattern in (None, "*", "**") else pattern.strip()
    return Rule(text, match[1], pattern_text, match[3] or "")


def tool_of(text: str) -> str:
    """Return the tool that a rule names, "" when it names several by a wildcard."""
    tool = rule(text).tool
    return tool if {*"*?["}.isdisjoint(tool) else ""


def allow_rule(text: str) -> Rule:
    """Parse a rule that allows; raises ValueError when it could match no command, or any."""
    parsed = rule(text)
    if not parsed.pattern or not parsed.names(SHELL):
        return parsed
    if not {*"*?["}.isdisjoint(parsed.words[0] if parsed.words else "*") and parsed.tool == SHELL:
        raise ValueError(f"rule {text!r} allows programs by a wildcard; name the program")
    if parsed.tool == SHELL and (problem := runners.problem(parsed.words, parsed.pattern)):
        raise ValueError(f"rule {text!r} can never allow a command: {problem}")
    return parsed


def allows_command(rule: Rule, simple: Simple) -> bool:
    """Tell whether a rule names the beginning of a recognised command, and everything it does."""
    return runners.fits(rule.words, simple.words)


def names_path(rule: Rule, spellings: Sequence[str]) -> bool:
    """Tell whether a rule's glob matches a path; without a slash it matches names at any depth."""
    if not rule.pattern:
        return True
    return any(glob(rule.pattern).fullmatch(fold_path(path)) for path in spellings)


def names_place(rule: Rule, places: Iterable[Sequence[str]]) -> bool:
    """Tell whether a rule's absolute glob may match one of *places*."""
    globs = [glob(each) for each in paths.globs(os.path.expanduser(rule.pattern))]
    return any(
        each.fullmatch(fold_path(path)) for place in places for path in place for each in globs
    )


def fold_path(path: str) -> str:
    """Return *path* with each of its names folded as `fold_name` does."""
    return "/".join(fold_name(name) for name in path.split("/"))


def normalise(pattern: str) -> str:
    """Return a glob of paths in its normal form; without a slash it is for names at any depth."""
    pattern = fold_path(pattern.strip().removeprefix("./").rstrip("/"))
    return pattern if "/" in pattern else f"**/{pattern}"


@lru_cache(maxsize=1_024)
def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression for paths that *pattern* matches as a whole."""
    return compile_glob(normalise(pattern))


def names_argument(rule: Rule, arguments: Mapping[str, Any], *, any_of: bool) -> bool:
    """Tell whether a rule's pattern matches the main argument, or with *any_of* any argument."""
    if not rule.pattern:
        return True
    texts = {key: value for key, value in arguments.items() if isinstance(value, str)}
    if any_of:
        return any(_denies_argument(rule, key, text) for key, text in texts.items())
    key = next((key for key in _MAIN if key in texts), "")
    if key == _ADDRESS:
        address = addresses.pattern(rule.pattern)
        return address is not None and address.allows(texts[key])
    return bool(key) and fnmatchcase(texts[key], rule.pattern)


def _denies_argument(rule: Rule, key: str, text: str) -> bool:
    address = addresses.pattern(rule.pattern) if key == _ADDRESS else None
    if address is not None and address.denies(text):
        return True
    return fnmatchcase(text, rule.pattern) or fnmatchcase(text.casefold(), rule.pattern.casefold())
