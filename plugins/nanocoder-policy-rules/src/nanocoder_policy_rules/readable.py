"""Which paths no tool may read: secrets, and paths that a rule keeps from a tool that reads.

A rule for one reader holds for all: `grep` does not find what `read_file` may not read.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import iglob
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from nanocoder import Effect, PathFilter, SessionInfo, Tool, named_paths, unescape_path
from nanocoder_kit_glob import expand_braces

from nanocoder_policy_rules import paths, rules
from nanocoder_policy_rules.candidate_names import select_candidates
from nanocoder_policy_rules.rules import Rule
from nanocoder_policy_rules.wildcards import NOTHING, any_of

if TYPE_CHECKING:
    from nanocoder_policy_rules.settings import UncheckedSettings as Settings

_SIGNS: Final = "*?[{\\"
MAX_OUTSIDE: Final = 1_000
"""So many paths outside of a workspace are hidden at most."""
_BY_NAME: Final = "name"
"""A tool with this argument looks things up by name, so rules for it are not about paths."""


class Guard(NamedTuple):
    """A rule as *glob*, for relative or for absolute paths, and where it can match.

    *prefix* begins every path that it matches, up to a "/" or ""; *name* is a pattern for the last
    name of each, or of its folder; "*" when it may be any.
    """

    text: str
    glob: re.Pattern[str]
    is_absolute: bool
    prefix: str
    name: str


class Guards:
    """Several rules, with one expression each for relative and for absolute paths."""

    def __init__(self, guards: Iterable[Guard]) -> None:
        self.all = tuple(guards)
        self._relative = any_of(guard.glob for guard in self.all if not guard.is_absolute)
        self._absolute = any_of(guard.glob for guard in self.all if guard.is_absolute)

    def text_of(self, relative: str, absolute: Iterable[str]) -> str:
        """Return the first rule that fits a path, folded, by one of its spellings; or ""."""
        is_absolute = self._absolute.fullmatch
        places = [] if self._absolute is NOTHING else list(filter(is_absolute, absolute))
        if not places and (not relative or self._relative.fullmatch(relative) is None):
            return ""
        for guard in self.all:
            if any(map(guard.glob.fullmatch, places if guard.is_absolute else (relative,))):
                return guard.text
        return ""


class ReadingRules(PathFilter):
    """The rules of the settings for paths in one session."""

    def __init__(
        self, session: SessionInfo, settings: "Settings", tools: Mapping[str, Tool[..., Any]]
    ) -> None:
        readers = [name for name, tool in tools.items() if _reads_paths(tool)]

        self._absolute: list[str] = []

        def guards(all_rules: Iterable[Rule]) -> list[Guard]:
            holding = (rule for rule in all_rules if rule.holds(session, session.mode))
            about_readers = [*_for_readers(holding, readers, tools)]
            self._absolute += [rule.pattern for rule in about_readers if rule.is_absolute]
            return [guard for rule in about_readers for guard in _guards(rule)]

        self._settings = settings
        self._denying = Guards(guards(settings.rules_that("deny")))
        self._asking = Guards(guards(settings.rules_that("ask")))
        # The rules for the original places also hold for the copy that a sub-agent works in.
        roots = [os.path.normpath(root) for root in (session.cwd, *session.origins)]
        self._roots = [paths.fold_path(f"{root}/".replace("//", "/")) for root in roots]

    def refuses(self, path: str) -> str:
        """Name the secret, or the rule that denies."""
        path = unescape_path(path)
        name = paths.secret((path,), self._settings.all_secrets, self._settings.all_not_secrets)
        if name:
            return paths.WHY_DENIED.format(name)
        text = self._fitting(self._denying, path)
        return f"the rule {text!r} forbids it" if text else ""

    def asks(self, path: str) -> str:
        """Name the rule that asks."""
        text = self._fitting(self._asking, unescape_path(path))
        return f"the rule {text!r} asks a person" if text else ""

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:
        """Return the names that may be a secret's, or that a rule may be about."""
        patterns = list(self._settings.all_secrets)
        if guards := [*self._denying.all, *self._asking.all]:
            here = f"{paths.fold_path(folder)}/" if folder else ""
            patterns += [guard.name for guard in guards if self._is_near(guard, here)]
        return select_candidates(names, tuple(patterns))

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

    def _fitting(self, guards: "Guards", path: str) -> str:
        """Return the rule among *guards* that fits *path*, or ""."""
        if not guards.all:
            return ""
        folded = paths.fold_path(path)
        return guards.text_of(folded, (root + folded for root in self._roots))

    def _is_near(self, guard: Guard, folder: str) -> bool:
        """Tell whether a rule can fit something in *folder*, or below it."""
        places = (root + folder for root in self._starts(guard))
        return any(p.startswith(guard.prefix) or guard.prefix.startswith(p) for p in places)

    def _starts(self, guard: Guard) -> Sequence[str]:
        return self._roots if guard.is_absolute else ("",)


class JoinedFilters(PathFilter):
    """Several filters as one: each may refuse."""

    def __init__(self, filters: Sequence[PathFilter]) -> None:
        self._filters = filters

    def refuses(self, path: str) -> str:
        """Return the first refusal."""
        return next(filter(None, (each.refuses(path) for each in self._filters)), "")

    def asks(self, path: str) -> str:
        """Return the first question."""
        return next(filter(None, (each.asks(path) for each in self._filters)), "")

    def outside(self) -> Iterable[str]:
        """Return the paths elsewhere of all filters."""
        return [path for each in self._filters for path in each.outside()]

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:
        """Return the names that one of the filters suspects."""
        return {name for each in self._filters for name in each.suspects(folder, names)}


def _reads_paths(tool: Tool[..., Any]) -> bool:
    names = tool.parameters.get("properties", {})
    takes_path = bool(named_paths(dict.fromkeys(names, ".")))
    return (
        takes_path and _BY_NAME not in names and tool.is_read_only and Effect.READ in tool.effects
    )


def _for_readers(
    all_rules: Iterable[Rule], readers: Sequence[str], tools: Mapping[str, Tool[..., Any]]
) -> Iterator[Rule]:
    """Yield the rules with a pattern for a path that are about a tool that reads."""
    for each in all_rules:
        rule = rules.with_path(each)
        if not rule.pattern:
            continue
        # A rule for a tool that is not installed counts, too: that tool may be a reader.
        is_unknown = rule.tool not in tools and {"*", "?"}.isdisjoint(rule.tool)
        if is_unknown or any(rule.names(name) and rule.is_about(tools[name]) for name in readers):
            yield rule


def _guards(rule: Rule) -> Iterator[Guard]:
    if not rule.is_absolute:
        yield _guard(rule, rule.pattern)
        return
    for pattern in paths.globs(os.path.expanduser(rule.pattern)):
        yield _guard(rule, pattern)


def _guard(rule: Rule, pattern: str) -> Guard:
    normal = rules.normalise(pattern)
    # A refused folder is refused with everything below it, so the folder is enough.
    folder = normal
    while folder.endswith("/**"):
        folder = folder.removesuffix("/**")
    wild = next((at for at, letter in enumerate(folder) if letter in _SIGNS), len(folder))
    prefix = folder[: folder.rfind("/", 0, wild) + 1]
    name = folder.rpartition("/")[2]
    is_any = "**" in name or not name
    return Guard(rule.text, rules.glob(pattern), rule.is_absolute, prefix, "*" if is_any else name)
