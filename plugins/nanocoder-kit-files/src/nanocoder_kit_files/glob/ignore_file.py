"""The rules of one ignore file of git."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from nanocoder_kit_files.glob import BadPattern, expand_braces
from nanocoder_kit_files.glob.patterns import Malformed, translate

MAX_RULES = 10_000
MAX_WILD_RULES = 500
MAX_WILD_BYTES = 20_000
MAX_CACHED_FILES = 1_000


class Rule(NamedTuple):
    """One line of an ignore file; *order* is its number among the valid ones.

    *text* is a name, or with *matches_path* a path. Without wildcards *pattern* is None: the line
    matches only *text*.
    """

    order: int
    text: bytes
    pattern: bytes | None
    negated: bool
    dirs_only: bool
    matches_path: bool

    def fits(self, path: bytes, name: bytes) -> bool:
        """Return True if a line with wildcards is for *path*, whose last name is *name*."""
        expression = _compiled(self.pattern or re.escape(self.text))
        return expression.fullmatch(path if self.matches_path else name) is not None

    @property
    def name(self) -> bytes:
        """The expression for the last name of every path that matches."""
        if self.pattern is None or not self.matches_path:
            return self.pattern or re.escape(self.text)
        return _name(self.text)


class Rules:
    """One ignore file; the last matching line decides.

    Repositories are not trusted, and each line with wildcards costs time for each name: those after
    the first 500 are dropped, and *is_cut* is set. *malformed* has the numbers of the lines that
    can match nothing, and the reasons. With *braces* `{a,b}` is either, as in other globs.
    """

    def __init__(self, data: bytes, *, braces: bool = False) -> None:
        rules, self.is_cut, self.malformed = _read(data, braces=braces)
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
        """Return True if *path*, from the file's directory, is ignored; None if no line matches."""
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


def _read(data: bytes, *, braces: bool) -> tuple[list[Rule], bool, list[tuple[int, str]]]:
    """Return the valid rules, whether the limit was reached, and the problems by line number."""
    rules: list[Rule] = []
    malformed: list[tuple[int, str]] = []
    wild = wild_bytes = 0
    lines = _lines(data)
    for number, line in lines[:MAX_RULES]:
        try:
            added = _rules(line, len(rules), braces=braces)
        except Malformed as error:
            malformed.append((number, str(error)))
            continue
        for rule in added:
            if rule.pattern is not None:
                wild, wild_bytes = wild + 1, wild_bytes + len(rule.text)
                if wild > MAX_WILD_RULES or wild_bytes > MAX_WILD_BYTES:
                    return rules, True, malformed
            rules.append(rule)
    return rules, len(lines) > MAX_RULES, malformed


def _rules(line: bytes, order: int, *, braces: bool) -> list[Rule]:
    """Return the rules of one line, none for an empty one; raises Malformed."""
    singles = [line]
    if braces and (b"{" in line or b"\0" in line):
        try:
            texts = expand_braces(line.decode(errors="surrogateescape"))
        except BadPattern as error:
            raise Malformed(str(error)) from None
        singles = [text.encode(errors="surrogateescape") for text in texts]
    rules = (_rule(single, order + at) for at, single in enumerate(singles))
    return [rule for rule in rules if rule is not None]


def _key(text: bytes, *, matches_path: bool) -> bytes:
    """Return the dictionary key of a line without wildcards: a path begins with a slash."""
    return b"/" + text if matches_path else text


@lru_cache(maxsize=4_096)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


def _union(sources: list[bytes]) -> Callable[[bytes], re.Match[bytes] | None] | None:
    return re.compile(b"|".join(sources), re.DOTALL).fullmatch if sources else None


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    """Return the lines that are no comments, with their numbers."""
    lines = enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
    return [
        (number, line.removesuffix(b"\r"))
        for number, line in lines
        if line and not line.startswith(b"#")
    ]


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
        pattern = translate(text, matches_path=matches_path)
    return Rule(order, text, pattern, negated, dirs_only, matches_path)


def _name(path: bytes) -> bytes:
    """Return the expression for the last name of a path that the pattern *path* matches."""
    if re.search(rb"[\[\\]|\*\*", path):
        return b"[^/]+"  # where its last name begins is hard to tell
    return translate(path.rpartition(b"/")[2], matches_path=False)


def _without_trailing_spaces(line: bytes) -> bytes:
    text = line.rstrip(b" ")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    # An odd backslash escapes the first of the spaces.
    return text + b" " if backslashes % 2 and len(text) < len(line) else text


@lru_cache(maxsize=MAX_CACHED_FILES)
def read_rules(data: bytes, *, braces: bool = False) -> Rules:
    """Return the rules in *data*; most searches find the files of the one before."""
    return Rules(data, braces=braces)
