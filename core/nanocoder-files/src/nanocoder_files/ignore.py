"""Which files git would leave out: `.gitignore` at every level, and `.git/info/exclude`.

The person's own list (`core.excludesFile`) lies outside the workspace and is not read; neither are
the `.gitignore` files of directories above the workspace.
"""

import os
import re
from collections.abc import Callable
from functools import lru_cache

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.patterns import Malformed, translate

MAX_RULES = 10_000
MAX_WILD_RULES = 500
MAX_WILD_BYTES = 20_000
MAX_CACHED_FILES = 2_000

# Reads a file below the root, never through a link: its bytes, and what differs when it changes.
ReadRules = Callable[[str], tuple[bytes, object] | None]


@frozen(eq=False, repr=False)
class Rule(Value):
    """One line of an ignore file; *order* is its number among those that count.

    *text* is a name, or with *matches_path* a path. Without wildcards *pattern* is None: the line
    fits *text* alone.
    """

    order: int
    text: bytes
    pattern: bytes | None
    negated: bool
    dirs_only: bool
    matches_path: bool

    def fits(self, path: bytes, name: bytes) -> bool:
        """Tell whether a line with wildcards is for *path*, whose last name is *name*."""
        expression = _compiled(self.pattern or re.escape(self.text))
        return expression.fullmatch(path if self.matches_path else name) is not None

    @property
    def name(self) -> bytes:
        """The expression for the last name of every path that matches."""
        if self.pattern is None or not self.matches_path:
            return self.pattern or re.escape(self.text)
        return _name(self.text)


class Rules:
    """One ignore file; the last line that fits decides.

    Repositories are not trusted, and each line with wildcards takes its time for each name: those
    behind the first 500 do not count, and *is_cut* tells of it.
    """

    def __init__(self, data: bytes) -> None:
        rules, self.is_cut = _read(data)
        self._plain: dict[bytes, list[Rule]] = {}
        for rule in rules:
            if rule.pattern is None:
                self._plain.setdefault(_key(rule.text, matches_path=rule.matches_path), []).append(
                    rule
                )
        self._wild = [rule for rule in reversed(rules) if rule.pattern is not None]
        self._any_name = _union(
            [rule.pattern or b"" for rule in self._wild if not rule.matches_path]
        )
        self._any_path = _union([rule.pattern or b"" for rule in self._wild if rule.matches_path])
        files = [rule for rule in rules if not rule.dirs_only]
        self._names = frozenset(rule.text.rpartition(b"/")[2] for rule in files if not rule.pattern)
        of_files = dict.fromkeys(rule.name for rule in self._wild if not rule.dirs_only)
        self._fitting = re.compile(b"/(" + b"|".join(of_files) + b")(?=/)") if of_files else None

    def __bool__(self) -> bool:
        return bool(self._plain or self._wild)

    def fitting(self, names: bytes) -> list[bytes]:
        """Return those of the *names* of files, each between two "/", that a line may fit.

        Nearly none does, which is found out for a whole directory in one go.
        """
        fitting = self._fitting.findall(names) if self._fitting else []
        if self._names:
            fitting += self._names.intersection(names.split(b"/"))
        return fitting

    def verdict(self, path: bytes, name: bytes, *, is_dir: bool) -> bool | None:
        """Say whether *path*, relative to the file's directory, is ignored; None: no line fits."""
        last = -1
        verdict: bool | None = None
        for key in (name, _key(path, matches_path=True)):
            for rule in self._plain.get(key, ()):
                if rule.order > last and (is_dir or not rule.dirs_only):
                    last, verdict = rule.order, not rule.negated
        # Nearly everything fits no line at all, which the unions find out in one go.
        if not (
            (self._any_name and self._any_name(name)) or (self._any_path and self._any_path(path))
        ):
            return verdict
        for rule in self._wild:
            if rule.order < last:
                break
            if (is_dir or not rule.dirs_only) and rule.fits(path, name):
                return not rule.negated
        return verdict


def _read(data: bytes) -> tuple[list[Rule], bool]:
    """Return the rules that count, and whether there are more."""
    rules: list[Rule] = []
    lines = _lines(data)
    wild = wild_bytes = 0
    for line in lines[:MAX_RULES]:
        rule = _rule(line, len(rules))
        if rule is None:
            continue
        if rule.pattern is not None:
            wild, wild_bytes = wild + 1, wild_bytes + len(rule.text)
            if wild > MAX_WILD_RULES or wild_bytes > MAX_WILD_BYTES:
                return rules, True
        rules.append(rule)
    return rules, len(lines) > MAX_RULES


def _key(text: bytes, *, matches_path: bool) -> bytes:
    """Return what a line without wildcards is kept under: a path begins with a slash."""
    return b"/" + text if matches_path else text


@lru_cache(maxsize=4_096)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


def _union(sources: list[bytes]) -> Callable[[bytes], re.Match[bytes] | None] | None:
    return re.compile(b"|".join(sources), re.DOTALL).fullmatch if sources else None


def _lines(data: bytes) -> list[bytes]:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in lines if line and not line.startswith(b"#")]


def _rule(line: bytes, order: int) -> Rule | None:
    text = _without_trailing_spaces(line.partition(b"\0")[0])
    negated = text.startswith(b"!")
    text = text[negated:]
    dirs_only = text.endswith(b"/")
    text = text[: len(text) - dirs_only]
    matches_path = b"/" in text
    text = text.removeprefix(b"/") if matches_path else text
    if not text:
        return None
    pattern = None
    if re.search(rb"[*?\[\\]", text):
        try:
            pattern = translate(text, matches_path=matches_path)
        except Malformed:
            return None
    return Rule(order, text, pattern, negated, dirs_only, matches_path)


def _name(path: bytes) -> bytes:
    """Return the expression for the last name of what the pattern *path* matches."""
    if re.search(rb"[\[\\]|\*\*", path):
        return b"[^/]+"  # where its last name begins is hard to tell
    return translate(path.rpartition(b"/")[2], matches_path=False)


def _without_trailing_spaces(line: bytes) -> bytes:
    text = line.rstrip(b" ")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    # An odd backslash escapes the first of the spaces.
    return text + b" " if backslashes % 2 and len(text) < len(line) else text


class Ignore:
    """The ignore files of one workspace, read when needed and again when they change."""

    def __init__(self, read: ReadRules) -> None:
        self._read = read
        self._cache: dict[str, tuple[object, Rules]] = {}
        self.cut: dict[str, None] = {}
        """The files of which only the beginning counts."""

    def at(self, folder: str) -> Rules:
        """Return the rules that the `.gitignore` of *folder* ("." for the root) holds."""
        return self._rules(".gitignore" if folder == "." else folder + "/.gitignore")

    def excluded(self) -> Rules:
        """Return the rules of `.git/info/exclude`."""
        return self._rules(".git/info/exclude")

    def _rules(self, path: str) -> Rules:
        content = self._read(path)
        if content is None:
            self._cache.pop(path, None)
            return Rules(b"")
        data, stamp = content
        cached = self._cache.get(path)
        if cached and cached[0] == stamp:
            return cached[1]
        if len(self._cache) >= MAX_CACHED_FILES:
            self._cache.clear()
        rules = Rules(data)
        if rules.is_cut:
            self.cut[path] = None
        self._cache[path] = (stamp, rules)
        return rules


# The rules in force somewhere, outermost first, each with the length of its directory's prefix.
Chain = tuple[tuple[int, Rules], ...]


def names_not_ignored(chain: Chain, prefix: bytes, names: list[str]) -> list[str]:
    """Return those of the *names* of files in one directory, at *prefix*, that are not ignored."""
    if not names or not chain:
        return names
    joined = os.fsencode("/" + "/".join(names) + "/")
    doubtful = {name for _, rules in chain for name in rules.fitting(joined)}
    if not doubtful:
        return names
    left_out = {name for name in doubtful if ignored(chain, prefix + name, name, is_dir=False)}
    return [name for name in names if os.fsencode(name) not in left_out] if left_out else names


def ignored(chain: Chain, path: bytes, name: bytes, *, is_dir: bool) -> bool:
    """Tell whether *path*, below the root, is ignored itself; its parents are not looked at."""
    for length, rules in reversed(chain):
        verdict = rules.verdict(path[length:], name, is_dir=is_dir)
        if verdict is not None:
            return verdict
    return False
