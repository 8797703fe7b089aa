"""Which files git would leave out: `.gitignore` at every level, and `.git/info/exclude`.

The person's own list (`core.excludesFile`) lies outside the workspace and is not read; neither are
the `.gitignore` files of directories above the workspace.
"""

import os
import re
from collections.abc import Callable

from attrs import frozen

from nanocoder.values import Value
from nanocoder.workspace.patterns import Malformed, translate

MAX_RULES = 10_000
MAX_FILES_KEPT = 2_000

# Reads a file below the root, never through a link: its bytes, and what differs when it changes.
ReadRules = Callable[[str], tuple[bytes, object] | None]


@frozen(eq=False, repr=False)
class Rule(Value):
    """One line of an ignore file."""

    pattern: re.Pattern[bytes]
    negated: bool
    dirs_only: bool
    whole_path: bool
    name: bytes
    """The expression for the last name of every path that matches."""


class Rules:
    """One ignore file; the last line that fits decides."""

    def __init__(self, data: bytes) -> None:
        sources: dict[bool, list[bytes]] = {False: [], True: []}
        names: set[bytes] = set()
        self._rules: list[Rule] = []
        for line in _lines(data)[:MAX_RULES]:
            rule, literal = _rule(line)
            if rule is None:
                continue
            self._rules.append(rule)
            if literal is None:
                sources[rule.whole_path].append(rule.pattern.pattern)
            else:
                names.add(literal)
        self._names = frozenset(names)
        self._any_name = _union(sources[False])
        self._any_path = _union(sources[True])
        self._rules.reverse()
        of_files = dict.fromkeys(rule.name for rule in self._rules if not rule.dirs_only)
        self._file = re.compile(b"/(" + b"|".join(of_files) + b")(?=/)") if of_files else None

    def __bool__(self) -> bool:
        return bool(self._rules)

    def fitting(self, names: bytes) -> list[bytes]:
        """Return those of the *names* of files, each between two "/", that a line may fit.

        Nearly none does, which is found out for a whole directory in one go.
        """
        return self._file.findall(names) if self._file else []

    def verdict(self, path: bytes, name: bytes, *, is_dir: bool) -> bool | None:
        """Say whether *path*, relative to the file's directory, is ignored; None: no line fits."""
        # Nearly everything fits no line at all, which the unions find out in one go.
        if not (
            name in self._names
            or (self._any_name and self._any_name(name))
            or (self._any_path and self._any_path(path))
        ):
            return None
        for rule in self._rules:
            if rule.dirs_only and not is_dir:
                continue
            if rule.pattern.fullmatch(path if rule.whole_path else name):
                return not rule.negated
        return None


def _union(sources: list[bytes]) -> Callable[[bytes], re.Match[bytes] | None] | None:
    return re.compile(b"|".join(sources), re.DOTALL).fullmatch if sources else None


def _lines(data: bytes) -> list[bytes]:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in lines if line and not line.startswith(b"#")]


def _rule(line: bytes) -> tuple[Rule | None, bytes | None]:
    """Read one line; also return the name where it is nothing but one."""
    text = _without_trailing_spaces(line.partition(b"\0")[0])
    negated = text.startswith(b"!")
    text = text[negated:]
    dirs_only = text.endswith(b"/")
    text = text[: len(text) - dirs_only]
    whole_path = b"/" in text
    text = text.removeprefix(b"/") if whole_path else text
    if not text:
        return None, None
    try:
        source = translate(text, whole_path=whole_path)
    except Malformed:
        return None, None
    literal = text if not whole_path and not re.search(rb"[*?\[\\]", text) else None
    name = _name(text) if whole_path else source
    return Rule(re.compile(source, re.DOTALL), negated, dirs_only, whole_path, name), literal


def _name(path: bytes) -> bytes:
    """Return the expression for the last name of what the pattern *path* matches."""
    if re.search(rb"[\[\\]|\*\*", path):
        return b"[^/]+"  # where its last name begins is hard to tell
    return translate(path.rpartition(b"/")[2], whole_path=False)


def _without_trailing_spaces(line: bytes) -> bytes:
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    # An odd backslash keeps the first of the spaces.
    return kept + b" " if backslashes % 2 and len(kept) < len(line) else kept


class Ignore:
    """The ignore files of one workspace, read when needed and again when they change."""

    def __init__(self, read: ReadRules) -> None:
        self._read = read
        self._known: dict[str, tuple[object, Rules]] = {}

    def at(self, folder: str) -> Rules:
        """Return the rules that the `.gitignore` of *folder* ("." for the root) holds."""
        return self._rules(".gitignore" if folder == "." else folder + "/.gitignore")

    def excluded(self) -> Rules:
        """Return the rules of `.git/info/exclude`."""
        return self._rules(".git/info/exclude")

    def _rules(self, path: str) -> Rules:
        found = self._read(path)
        if found is None:
            self._known.pop(path, None)
            return Rules(b"")
        data, stamp = found
        known = self._known.get(path)
        if known and known[0] == stamp:
            return known[1]
        if len(self._known) >= MAX_FILES_KEPT:
            self._known.clear()
        rules = Rules(data)
        self._known[path] = (stamp, rules)
        return rules


# The rules in force somewhere, outermost first, each with the length of its directory's prefix.
Chain = tuple[tuple[int, Rules], ...]


def kept(chain: Chain, prefix: bytes, names: list[str]) -> list[str]:
    """Return those of the *names* of files in one directory, at *prefix*, that are not ignored."""
    if not names or not chain:
        return names
    joined = os.fsencode("/" + "/".join(names) + "/")
    doubtful = {name for _, rules in chain for name in rules.fitting(joined)}
    if not doubtful:
        return names
    left_out = {
        os.fsdecode(name) for name in doubtful if ignored(chain, prefix + name, name, is_dir=False)
    }
    return [name for name in names if name not in left_out]


def ignored(chain: Chain, path: bytes, name: bytes, *, is_dir: bool) -> bool:
    """Tell whether *path*, below the root, is ignored itself; its parents are not looked at."""
    for length, rules in reversed(chain):
        verdict = rules.verdict(path[length:], name, is_dir=is_dir)
        if verdict is not None:
            return verdict
    return False
