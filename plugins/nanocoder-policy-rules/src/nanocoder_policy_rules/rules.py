"""Rules: the short form `TOOL`, `TOOL(PATTERN)` with `@AGENT`, and what both forms come to.

For `bash` the pattern is words: the beginning of a command, `*` for one word, or at the end for
any words, which `:*` stands for, too. For tools with paths it is a glob of paths in the workspace,
for an argument `url` a pattern for addresses, and for others a glob of an argument. An agent is the
name of a sub-agent's profile, or `main`; a rule without one is for all.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from fnmatch import filter as matching
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen
from nanocoder import Mode, Risk, SessionInfo, did_you_mean
from nanocoder_kit_files.glob import compile_glob, expand_braces, problem_of_glob

from nanocoder_policy_rules import addresses, paths, programs
from nanocoder_policy_rules.rule_tables import Remark, RuleTable, RuleVerdict

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
_SYNTAX: Final = ("&&", "||", ";", "|", "<", ">", "$", "`", "'", '"', " #")
_NEXT_RULE: Final = r"\)(?:[\s,]+[\w*-]+)?\("
_NOTHING_NAMED: Final = re.compile(r"-.*|\d+\w?|\w+=.*|\*", re.DOTALL)
_SURELY: Final = 0.8
"""The similarity, from 0 to 1, above which an unknown name is a slip of a known one."""
_LABELLED_HOST: Final = r"[a-z]+:([a-z0-9*-]+(?:\.[a-z0-9*-]+)+)"
"""A word before a host, which is no scheme without `//` and forbids nothing."""
_SPECIAL: Final = frozenset("*?[]{}\\")


class Source(str):
    """The file and line of a rule, with the layer that it belongs to."""

    __slots__ = ("layer",)
    layer: str


@frozen(eq=False)
class Rule:
    """One rule, however it was written: what its *table* says, ready to be compared.

    *text* is the rule in short form. *pattern* is "" for a rule about every call of its tools.
    """

    table: RuleTable
    text: str
    pattern: str = ""

    @property
    def tool(self) -> str:
        """The name of the tools that it is about, with wildcards."""
        return self.table.tool or ANYTHING

    @property
    def allows(self) -> bool:
        """Return True if the rule allows: then it must not apply in doubt."""
        return self.table.verdict == "allow"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of a pattern for commands, without the `*` at its end."""
        words = tuple(self.pattern.split())
        if words and words[-1] not in {"*", ":*"} and words[-1].endswith(":*"):
            return (*words[:-1], words[-1].removesuffix(":*"))
        return words[:-1] if words and words[-1] in {"*", ":*"} else words

    @cached_property
    def program(self) -> str:
        """Return the program that a command must start for a rule to match, "" for any."""
        program = self.words[0].rpartition("/")[2].casefold() if self.words else ""
        return "" if paths.has_wildcard(program) else program

    def source(self, setting: str) -> str:
        """Return the file and line of the rule, or its *setting* if they are unknown."""
        source = Source(str(self.table.origin()) or setting)
        source.layer = self.table.layer
        return source

    @property
    def is_bare(self) -> bool:
        """Return True if the rule has only a tool; `(**)` is about any path."""
        return not self.pattern and "(" not in self.text

    @property
    def is_absolute(self) -> bool:
        """Return True if the pattern, of paths, starts at the root of the disk or at home."""
        return self.pattern.startswith(("/", "~/"))

    def names(self, tool: str) -> bool:
        """Return True if this rule is about a tool called *tool*."""
        return self.tool in (tool, ANYTHING) or fnmatchcase(tool, self.tool)

    def is_about(self, tool: "Tool[..., Any]") -> bool:
        """Return True if this rule is about *tool*, apart from its name; doubt is strict."""
        effect, risk, plugin = self.table.effect, self.table.risk, self.table.plugin
        # A tool that does not say what it does may do anything.
        is_told = self.allows or bool(tool.effects)
        if effect and is_told and effect not in tool.effects:
            return False
        if risk:
            order = _RISKS.index(tool.risk) - _RISKS.index(Risk(risk))
            if order > 0 if self.allows else order < 0:
                return False
        return not plugin or fnmatchcase(tool.plugin, plugin)

    def holds(self, session: SessionInfo, mode: Mode) -> bool:
        """Return True if this rule applies in *session*, now."""
        table, agent = self.table, session.agent or MAIN_AGENT
        return (
            (not table.agent or fnmatchcase(agent.casefold(), table.agent.casefold()))
            and (not table.modes or mode in table.modes)
            and table.interactive in (None, session.interactive)
            and (not table.folder or names_folder(table.folder, session))
            and not self.has_expired
        )

    @property
    def has_expired(self) -> bool:
        """Return True if the rule no longer counts; a date counts to its end."""
        expires = self.table.expires
        if isinstance(expires, datetime):
            return expires <= datetime.now(expires.tzinfo)  # in UTC, year 9999 may be too far
        return expires is not None and bool(expires < datetime.now().astimezone().date())


def rules_of(
    verdict: RuleVerdict, texts: Iterable[str], tables: Iterable[RuleTable]
) -> tuple[Rule, ...]:
    """Return the rules of both forms with *verdict*; raises ValueError for one that is none.

    A pattern `/secrets/**` that forbids is about the machine's root and, as in ignore files, the
    workspace's. A pattern `src/**` of a project's file is also about the folder of that project,
    which may be above the workspace.
    """
    rules = [rule(text, verdict) for text in texts]
    rules += [rule_of(table) for table in tables if table.verdict == verdict]
    rules = [alternative for each in rules for alternative in _alternatives(each)]
    if verdict == "allow":
        return tuple(rules)
    of_paths = [each for each in rules if "/" in each.pattern and each.tool != SHELL]
    return (*rules, *filter(None, map(_elsewhere, of_paths)))


def _alternatives(rule: Rule) -> Iterator[Rule]:
    """Yield a rule for each pattern that its braces expand to; raises BadPattern for too many."""
    yield from (evolve(rule, pattern=each) for each in expand_braces(rule.pattern))


def _elsewhere(rule: Rule) -> Rule | None:
    """Return the same rule about the other place that its pattern names, if there is one."""
    if rule.pattern[:1] == "/":
        return evolve(rule, pattern=f".{rule.pattern}")
    origin = rule.table.origin()
    if getattr(origin, "layer", "") != "project" or rule.is_absolute:
        return None
    folder = Path(getattr(origin, "file", "")).parents[1]
    return evolve(rule, pattern=f"{folder}/{rule.pattern.removeprefix('./')}")


def rule(text: str, verdict: RuleVerdict) -> Rule:
    """Parse a rule in short form; raises ValueError for one that could match nothing, or too much.

    A text that knows where it is written has an *origin*.
    """
    parsed = _parsed(str(text), verdict)
    origin = getattr(text, "origin", None)
    return evolve(parsed, table=parsed.table.at(origin)) if origin else parsed


@lru_cache(maxsize=1_024)
def _parsed(text: str, verdict: RuleVerdict) -> Rule:
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
    table = RuleTable(verdict, tool=match[1], agent=match[3] or "")
    parsed = Rule(table, text, "" if pattern in {None, "*", "**", ":*"} else pattern.strip())
    _check(parsed)
    return parsed


def rule_of(table: RuleTable) -> Rule:
    """Make a rule from a table; raises ValueError if it can never match."""
    if not (table.tool or table.effect or table.risk or table.plugin):
        raise ValueError('a rule needs what it is about: tool, effect, risk or plugin ("*")')
    if table.expires is not None and not isinstance(table.expires, date):
        raise ValueError(f"expires: expected a date such as 2030-12-31, got {table.expires!r}")
    tool = table.tool or ANYTHING
    parsed = _parsed(f"{tool}({table.pattern})" if table.pattern else tool, table.verdict)
    return evolve(parsed, table=table, text=table.text)


def names_folder(pattern: str, session: SessionInfo) -> bool:
    """Return True if a session works in a folder that *pattern* matches, or below it."""
    folders = (session.cwd, *session.origins)
    return names_place(pattern, ([str(each) for each in (at, *at.parents)[:-1]] for at in folders))


def _check(rule: Rule) -> None:
    """Raise ValueError for a rule that can match nothing, or allows any command."""
    if rule.pattern and (problem := _why_nothing_matches(rule)):
        raise ValueError(f"the rule {rule.text!r} can match nothing: {problem}")
    if rule.pattern and rule.allows and rule.tool == SHELL:
        for each in _alternatives(rule):
            _check_allowing(each)


def _why_nothing_matches(rule: Rule) -> str:
    if re.search(_NEXT_RULE, rule.pattern):
        return "it looks like several rules; write a list of texts, one for each"
    if "\0" in rule.pattern:
        return "no name, word or address has a NUL character"
    if rule.tool != SHELL:
        return "" if "://" in rule.pattern else problem_of_glob(rule.pattern)
    if sign := next((sign for sign in _SYNTAX if sign in rule.pattern), ""):
        return f"it is compared with the words of one command; write it without {sign!r}"
    is_assignment = "=" in rule.pattern.split()[0]
    return "a rule begins with the name of a program, not with NAME=value" if is_assignment else ""


def _check_allowing(rule: Rule) -> None:
    """Raise ValueError for a rule about commands that would allow any."""
    program, *others = rule.words or ("*",)
    name = program.rpartition("/")[2]
    if paths.has_wildcard(program):
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


def names_path(rule: Rule, spellings: Iterable[str]) -> bool:
    """Return True if a rule's glob matches a path by one of its folded *spellings*.

    Without a slash it matches names at any depth.
    """
    return any(map(glob(rule.pattern).fullmatch, spellings))


def names_place(pattern: str, places: Iterable[Sequence[str]]) -> bool:
    """Return True if an absolute glob may match one of *places*, each a path's spellings."""
    globs = [glob(each) for each in paths.globs(os.path.expanduser(pattern))]
    folded = (paths.fold_path(path) for place in places for path in place)
    return any(each.fullmatch(path) for path in folded for each in globs)


def normalise(pattern: str) -> str:
    """Return a glob of paths in its normal form; without a slash it is for names at any depth."""
    pattern = pattern.strip()
    is_anchored = pattern.startswith("./")
    pattern = paths.fold_pattern(pattern.removeprefix("./").rstrip("/"))
    return pattern if is_anchored or "/" in pattern else f"**/{pattern}"


def first_folder(rule: Rule) -> str:
    """Return the folder, or the file, in which each path is that a rule matches; "" for any."""
    first = "" if rule.is_absolute or not rule.pattern else normalise(rule.pattern).split("/")[0]
    return first if _SPECIAL.isdisjoint(first) else ""


@lru_cache(maxsize=1_024)
def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression for paths that *pattern* matches as a whole."""
    return compile_glob(normalise(pattern))


def names_argument(rule: Rule, arguments: Mapping[str, Any], *, any_of: bool) -> bool:
    """Return True if a rule's pattern matches the main argument, or with *any_of* any argument."""
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


def remarks_on(rule: Rule, tools: Collection[str], plugins: Collection[str]) -> Iterator[Remark]:
    """Yield remarks on a rule that has no effect among *tools* and *plugins*."""
    table = rule.table
    if rule.has_expired:
        line = f"the rule {rule.text!r} expired on {table.expires} and no longer counts"
        yield table.origin(), line, False
        return
    for kind, name, names in (("tool", rule.tool, tools), ("plugin", table.plugin, plugins)):
        if name and not matching(names, name):
            hint = did_you_mean(name.casefold(), names, cutoff=_SURELY)
            line = f"{rule.text!r} is about the {kind} {name!r}, which is not installed{hint}"
            yield table.origin(), line, bool(hint)
    if rule.tool != SHELL and (host := re.compile(_LABELLED_HOST).fullmatch(rule.pattern)):
        plain = f"{rule.tool}({host[1]})"
        line = f"the rule {rule.text!r} matches no address; for the host write {plain!r}"
        yield table.origin(), line, True
