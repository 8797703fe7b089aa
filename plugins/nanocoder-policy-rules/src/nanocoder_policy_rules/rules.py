"""Rules: the short form `TOOL`, `TOOL(PATTERN)` with `@AGENT`, and what both forms come to.

For `bash` the pattern is words: the beginning of a command, `*` for one word, or at the end for
any words, which `:*` stands for, too. For tools with paths it is a glob of paths in the workspace,
for an argument `url` a pattern for addresses, and for others a glob of an argument. An agent is the
name of a sub-agent's profile, or `main`; a rule without one is for all.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, field, frozen
from nanocoder import Mode, Risk, SessionInfo, named_paths

from nanocoder_policy_rules import addresses, paths, programs
from nanocoder_policy_rules.wildcards import compile_glob

if TYPE_CHECKING:
    from nanocoder import Tool

_NAME = r"[A-Za-z0-9_*?.-]+"
_RULE = rf"(?s)\s*({_NAME})\s*(?:\((.*)\))?\s*(?:@\s*({_NAME})\s*)?"
MAIN_AGENT: Final = "main"
SHELL: Final = "bash"
ANYTHING: Final = "*"
ADDRESS: Final = "url"
_MAIN: Final = (ADDRESS, "query", "name", "action", "pattern", "description")
_RISKS: Final = tuple(Risk)
_SYNTAX: Final = ("<", ">", "$", "`")
_NOTHING_NAMED: Final = re.compile(r"-.*|\d+\w?|\w+=.*|\*", re.DOTALL)
_CHAINS: Final = ("&&", "||", ";", "|")


class Source(str):
    """The file and line of a rule, with the layer that it belongs to."""

    __slots__ = ("layer",)
    layer: str


def _nowhere() -> str:
    return ""


@frozen(eq=False)
class Rule:
    """One rule, however it was written.

    *text* is the rule in short form. It is about calls of *tool* (a name with wildcards), with
    *effect*, *risk* and from *plugin* where these are set, and with the *pattern* and the patterns
    in *arguments* by name. It holds for *agent*, in *modes*, with or without a person
    (*interactive*), in a *folder*, until it *expires*. *reason* is what the model reads. *allows*
    says which way doubt counts. *origin* returns where it is written.
    """

    text: str
    tool: str = ANYTHING
    pattern: str = ""
    agent: str = ""
    allows: bool = False
    effect: str = ""
    risk: str = ""
    plugin: str = ""
    arguments: Mapping[str, str] = field(factory=dict)
    modes: tuple[str, ...] = ()
    interactive: bool | None = None
    folder: str = ""
    reason: str = ""
    expires: date | None = None
    origin: Callable[[], object] = _nowhere

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of a pattern for commands, without the `*` at its end."""
        words = tuple(self.pattern.split())
        if words and words[-1] not in {"*", ":*"} and words[-1].endswith(":*"):
            return (*words[:-1], words[-1].removesuffix(":*"))
        return words[:-1] if words and words[-1] in {"*", ":*"} else words

    def source(self, setting: str) -> str:
        """Return where the rule is written, or the *setting* that holds it if that is unknown."""
        origin = self.origin()
        source = Source(str(origin) or setting)
        source.layer = getattr(origin, "layer", "")
        return source

    @property
    def fits_any(self) -> bool:
        """Tell whether the rule is about every call of its tools."""
        return not self.pattern and not self.arguments

    @property
    def is_bare(self) -> bool:
        """Tell whether the rule has only a tool; `(**)` is about any path."""
        return self.fits_any and "(" not in self.text

    @property
    def is_absolute(self) -> bool:
        """Tell whether the pattern, as one of paths, starts at the root of the disk or at home."""
        return self.pattern.startswith(("/", "~/"))

    def names(self, tool: str) -> bool:
        """Tell whether this rule is about a tool called *tool*."""
        return self.tool in (tool, ANYTHING) or fnmatchcase(tool, self.tool)

    def is_about(self, tool: "Tool[..., Any]") -> bool:
        """Tell whether this rule is about *tool*, apart from its name; doubt makes it stricter."""
        # A tool that does not say what it does may do anything.
        is_told = self.allows or bool(tool.effects)
        if self.effect and is_told and self.effect not in tool.effects:
            return False
        if self.risk:
            order = _RISKS.index(tool.risk) - _RISKS.index(Risk(self.risk))
            if order > 0 if self.allows else order < 0:
                return False
        return not self.plugin or fnmatchcase(tool.plugin, self.plugin)

    @cached_property
    def holds_always(self) -> bool:
        """Tell whether the rule applies in every session, for ever."""
        conditions = (self.agent, self.modes, self.folder, self.expires)
        return self.interactive is None and not any(conditions)

    def holds(self, session: SessionInfo, mode: Mode) -> bool:
        """Tell whether this rule applies in *session*, now."""
        if self.holds_always:
            return True
        if not self.is_for(session.agent) or (self.modes and mode not in self.modes):
            return False
        if self.interactive not in (None, session.interactive):
            return False
        if self.folder and not names_folder(self.folder, session):
            return False
        return self.expires is None or not self.is_expired(datetime.now().astimezone())

    def is_expired(self, now: datetime) -> bool:
        """Tell whether the rule no longer counts at *now*; a date counts to its end."""
        if isinstance(self.expires, datetime):
            return self.expires.astimezone() <= now
        return self.expires is not None and self.expires < now.date()

    def is_for(self, agent: str) -> bool:
        """Tell whether this rule is about *agent*, which is "" for the main rule."""
        name = (agent or MAIN_AGENT).casefold()
        return not self.agent or fnmatchcase(name, self.agent.casefold())


@lru_cache(maxsize=1_024)
def rule(text: str) -> Rule:
    """Parse a rule; raises ValueError, naming it."""
    match = re.compile(_RULE).fullmatch(text)
    if match is None:
        raise ValueError(
            f"rule {text!r} is not of the form TOOL, TOOL(PATTERN) or TOOL(PATTERN) @AGENT"
        )
    pattern = match[2]
    if pattern is not None and not pattern.strip():
        raise ValueError(
            f"rule {text!r} has an empty pattern; remove the brackets, or give a pattern"
        )
    pattern_text = "" if pattern in (None, "*", "**", ":*") else pattern.strip()
    parsed = Rule(text, match[1], pattern_text, match[3] or "")
    check_pattern(parsed)
    return parsed


def names_folder(pattern: str, session: SessionInfo) -> bool:
    """Tell whether a session works in a folder that *pattern* matches, or below it."""
    globs = [glob(each) for each in paths.globs(os.path.expanduser(pattern))]
    places = [str(folder) for folder in (session.cwd, *session.origins)]
    every = (above for place in places for above in _and_above(place))
    return any(each.fullmatch(paths.fold_path(place)) for place in every for each in globs)


def _and_above(place: str) -> Iterable[str]:
    while place != os.path.dirname(place):
        yield place
        place = os.path.dirname(place)


def allow_rule(text: str) -> Rule:
    """Parse a rule that allows; raises ValueError when it could match no command, or any."""
    parsed = rule(text)
    check_allowing(parsed)
    return parsed


def check_pattern(rule: Rule) -> None:
    """Raise ValueError for a rule about commands that can match none."""
    if rule.tool != SHELL or not rule.pattern:
        return
    if sign := next((sign for sign in _CHAINS if sign in rule.pattern), ""):
        problem = f"each command of a chain is matched by itself; write a rule without {sign!r}"
    elif sign := next((sign for sign in _SYNTAX if sign in rule.pattern), ""):
        problem = f"it is compared with words, and {sign!r} is syntax of the shell"
    elif quote := next((quote for quote in "'\"" if quote in rule.pattern), ""):
        problem = f"words are matched without quotes; write them without {quote}"
    elif "=" in rule.pattern.split()[0]:
        problem = "a rule begins with the name of a program, not with NAME=value"
    else:
        return
    raise ValueError(f"the rule {rule.text!r} can match no command: {problem}")


def check_allowing(rule: Rule) -> None:
    """Raise ValueError for a rule that allows and could match no command, or any."""
    if not rule.pattern or not rule.names(SHELL) or rule.tool != SHELL:
        return
    check_pattern(rule)
    program, *others = rule.words or ("*",)
    name = program.rpartition("/")[2]
    if not {*"*?["}.isdisjoint(program):
        raise ValueError(f"rule {rule.text!r} allows programs by a wildcard; name the program")
    if name in programs.UNRULED:
        problem = f"{name} decides what later commands do, so only the rule `bash` allows it"
        raise ValueError(f"rule {rule.text!r} can never allow a command: {problem}")
    named = [word for word in others if not _NOTHING_NAMED.fullmatch(word)]
    runner = " ".join([name, *named])
    is_open = not named and (name == "git" or name in programs.SHELLS | programs.WRAPPERS)
    if is_open or runner in programs.INTERPRETERS:
        problem = f"{runner} runs what its arguments say; name that, too: `bash({runner} WORD *)`"
        raise ValueError(f"rule {rule.text!r} allows too much: {problem}")


def names_path(rule: Rule, spellings: Sequence[str]) -> bool:
    """Tell whether a rule's glob matches a path; without a slash it matches names at any depth."""
    if not rule.pattern:
        return True
    return any(glob(rule.pattern).fullmatch(paths.fold_path(path)) for path in spellings)


def names_place(rule: Rule, places: Iterable[Sequence[str]]) -> bool:
    """Tell whether a rule's absolute glob may match one of *places*, each a path's spellings."""
    globs = [glob(each) for each in paths.globs(os.path.expanduser(rule.pattern))]
    folded = (paths.fold_path(path) for place in places for path in place)
    return any(each.fullmatch(path) for path in folded for each in globs)


def with_path(rule: Rule) -> Rule:
    """Return a rule about a path alone, by the name of its argument, with that pattern."""
    only = next(iter(rule.arguments.items())) if len(rule.arguments) == 1 else None
    if only is None or not named_paths({only[0]: "."}):
        return rule
    return evolve(rule, pattern=only[1])


def normalise(pattern: str) -> str:
    """Return a glob of paths in its normal form; without a slash it is for names at any depth."""
    pattern = pattern.strip()
    is_anchored = pattern.startswith("./")
    pattern = paths.fold_path(pattern.removeprefix("./").rstrip("/"))
    return pattern if is_anchored or "/" in pattern else f"**/{pattern}"


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
    if key == ADDRESS:
        address = addresses.pattern(rule.pattern)
        return address is not None and address.allows(texts[key])
    return bool(key) and fnmatchcase(texts[key], rule.pattern)


def _denies_argument(rule: Rule, key: str, text: str) -> bool:
    address = addresses.pattern(rule.pattern) if key == ADDRESS else None
    if address is not None and address.denies(text):
        return True
    return fnmatchcase(text, rule.pattern) or fnmatchcase(text.casefold(), rule.pattern.casefold())
