"""Paths that no tool may read: secrets, and those that a rule denies to a tool that reads.

A rule for one reader holds for all: `grep` does not find what `read_file` may not read. Paths that
a rule denies to a tool that changes files are read-only for commands.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from glob import iglob
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from attrs import evolve
from nanocoder import Effect, PathFilter, SessionInfo, Tool, fold_name, named_paths, unescape_path
from nanocoder_kit_files.glob import expand_braces, literal_ends

from nanocoder_policy_rules import paths, rules
from nanocoder_policy_rules.ignored import read_ignored
from nanocoder_policy_rules.rules import Rule

if TYPE_CHECKING:
    from nanocoder_policy_rules.settings import Settings

_ODD: Final = re.compile(r":|[. ](?:\n|\Z)")
MAX_OUTSIDE: Final = 1_000
"""So many paths outside of a workspace are hidden at most."""
_BY_NAME: Final = "name"
"""A tool with this argument looks things up by name, so rules for it are not about paths."""
_PATH_AND_PATCH: Final = "+++ x"


class Guard(NamedTuple):
    """A rule as *glob*, for relative or for absolute paths.

    *name* is a pattern for the last name of each path that it matches, or of its folder.
    """

    text: str
    glob: re.Pattern[str]
    is_absolute: bool
    name: str


class FileRules(PathFilter):
    """The rules of the settings for paths in one session, and what its ignore files leave out."""

    def __init__(
        self,
        session: SessionInfo,
        settings: "Settings",
        tools: Mapping[str, Tool[..., Any]],
    ) -> None:
        self._settings, self._ignored = settings, read_ignored(session, settings)
        about_readers = partial(_rules_about, _reads_paths, session, tools)
        denying = [*about_readers(settings.rules_that("deny"))]
        asking = [*about_readers(settings.rules_that("ask"))]
        self._absolute = [rule.pattern for rule in (*denying, *asking) if rule.is_absolute]
        # The rules for the original places also hold for the copy that a sub-agent works in.
        roots = [os.path.normpath(root) for root in (session.cwd, *session.origins)]
        self._roots = [paths.fold_path(f"{root}/".replace("//", "/")) for root in roots]
        writing = _rules_about(_changes_paths, session, tools, settings.rules_that("deny"))
        self._denying, self._asking, self._writing = (
            [guard for rule in each for guard in _guards(rule, self._roots)]
            for each in (denying, asking, map(_with_folder, writing))
        )
        names = (guard.name for guard in (*self._denying, *self._asking))
        self._candidates = Candidates((*settings.secret_names[0], *names))
        self._written = Candidates(guard.name for guard in self._writing)

    def refuses(self, path: str) -> str:
        """Name the secret, the rule that denies, or the file that leaves *path* out."""
        plain = unescape_path(path)
        if name := paths.secret((plain,), *self._settings.secret_names):
            return paths.WHY_DENIED.format(name)
        if text := self._fitting(self._denying, plain):
            return f"the rule {text!r} forbids it"
        return self._ignored.refuses(path) if self._ignored else ""

    def asks(self, path: str) -> str:
        """Name the rule that asks."""
        text = self._fitting(self._asking, unescape_path(path))
        return f"the rule {text!r} asks a person" if text else ""

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:
        """Return the names that may be a secret's, or that a rule or an ignore file is about."""
        candidates = self._candidates.among(names)
        return (
            {*candidates, *self._ignored.suspects(folder, names)} if self._ignored else candidates
        )

    def read_only(self, folder: str, names: Sequence[str]) -> dict[str, str]:
        """Return the *names* that a rule denies to a tool that changes files, with the rules."""
        if not self._writing:
            return {}
        prefix = f"{folder}/" if folder else ""
        reasons = {}
        for name in self._written.among(names):
            if text := self._fitting(self._writing, unescape_path(prefix + name)):
                reasons[name] = f"the rule {text!r} forbids it"
        return reasons

    def outside(self) -> Iterable[str]:
        """Return the paths that rules with an absolute pattern are about, as far as they exist."""
        patterns = (
            single
            for pattern in self._absolute
            for each in paths.globs(os.path.expanduser(pattern))
            for single in expand_braces(each.removesuffix("/**"))
        )
        names = (name for each in patterns for name in iglob(each, include_hidden=True))
        return dict.fromkeys(islice(names, MAX_OUTSIDE))

    def _fitting(self, guards: Iterable[Guard], path: str) -> str:
        """Return the rule among *guards* that fits *path*, or ""."""
        folded = paths.fold_path(path)
        absolute = [root + folded for root in self._roots]
        for guard in guards:
            if any(map(guard.glob.fullmatch, absolute if guard.is_absolute else (folded,))):
                return guard.text
        return ""


class Candidates:
    """Finds the names that one of many patterns may match without a regular expression.

    One for twenty patterns takes ten times as long, and a search goes through 50,000 names.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        starts, ends = set[str](), set[str]()
        folded = map(paths.fold_pattern, patterns)
        for single in (each for pattern in folded for each in expand_braces(pattern)):
            start, end = literal_ends(single)
            if start:
                starts.add(start)
            else:
                ends.add(end)
        self._starts, self._ends = tuple(starts), tuple(ends)
        self._first = frozenset(start[0] for start in starts)

    def among(self, names: Sequence[str]) -> Sequence[str]:
        """Return all *names* that one of the patterns with `*` matches, and perhaps some others."""
        text = "\n".join(names).casefold()
        # Names with a backslash have escapes for characters that file systems ignore.
        if "" in self._ends or "\\" in text:
            return names
        lines = text.split("\n")
        # File systems ignore some differences of letters, and ends such as "." and ":stream".
        if not text.isascii() or len(lines) != len(names) or _ODD.search(text):
            lines = [fold_name(name.replace("\n", " ")) for name in names]
        return [
            name
            for name, line in zip(names, lines, strict=True)
            if line.endswith(self._ends)
            or (line[:1] in self._first and line.startswith(self._starts))
        ]


def _reads_paths(tool: Tool[..., Any]) -> bool:
    return _takes_path(tool) and tool.is_read_only and Effect.READ in tool.effects


def _changes_paths(tool: Tool[..., Any]) -> bool:
    """Return True if a tool may change the files that it names; a tool of commands names words."""
    may_write = Effect.WRITE in tool.effects or not tool.effects
    return _takes_path(tool) and may_write and Effect.EXECUTE not in tool.effects


def _takes_path(tool: Tool[..., Any]) -> bool:
    names = tool.parameters.get("properties", {})
    return _BY_NAME not in names and bool(named_paths(dict.fromkeys(names, _PATH_AND_PATCH)))


def _rules_about(
    is_about: Callable[[Tool[..., Any]], bool],
    session: SessionInfo,
    tools: Mapping[str, Tool[..., Any]],
    all_rules: Iterable[Rule],
) -> Iterator[Rule]:
    """Yield the rules with a pattern for a path that are about such a tool, and hold."""
    concerned = {name: tool for name, tool in tools.items() if is_about(tool)}
    for rule in all_rules:
        if not rule.pattern or not rule.holds(session, session.mode):
            continue
        # A rule for a tool that is not installed counts, too: it may be such a tool.
        is_unknown = rule.tool not in tools and not paths.has_wildcard(rule.tool)
        if is_unknown or any(
            rule.names(name) and rule.is_about(tool) for name, tool in concerned.items()
        ):
            yield rule


def _with_folder(rule: Rule) -> Rule:
    """Return the rule for a whole folder where it is about whatever is in it: also what is new."""
    folder = rule.pattern.removesuffix("/*")
    if folder != rule.pattern and folder.strip("./~*"):
        return evolve(rule, pattern=f"{folder}/**")
    return rule


def _guards(rule: Rule, roots: Sequence[str]) -> Iterator[Guard]:
    expanded = os.path.expanduser(rule.pattern)
    globs = paths.globs(expanded) if rule.is_absolute else (rule.pattern,)
    for pattern in (single for each in globs for single in expand_braces(each)):
        # A refused folder is refused with everything below it, so the folder is enough.
        folder = rules.normalise(pattern)
        while folder.endswith("/**"):
            folder = folder.removesuffix("/**")
        name, glob = folder.rpartition("/")[2], rules.glob(pattern)
        is_all = rule.is_absolute and any(glob.fullmatch(f"{root}x") for root in roots)
        is_any = "**" in name or not name or is_all
        yield Guard(rule.text, glob, rule.is_absolute, "*" if is_any else name)
