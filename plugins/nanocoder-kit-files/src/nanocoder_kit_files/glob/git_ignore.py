"""Walks that leave out paths that git ignores.

These are `.gitignore` at every level from the root of the repository, which may lie above the
workspace, `.git/info/exclude`, and the user's own list (`core.excludesFile`).
"""

import os
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanocoder import WorkspaceError, unescape_path

from nanocoder_kit_files.glob.above import EXCLUDED, rules_above
from nanocoder_kit_files.glob.ignore_file import Rules, read_rules
from nanocoder_kit_files.glob.left_out import LeftOut
from nanocoder_kit_files.glob.walks import Files, Sieve, walk_files, walk_tree

if TYPE_CHECKING:
    from nanocoder import Entry, Workspace

MAX_RULE_BYTES = 1_000_000
MAX_CUT_NAMED = 3
_FILE = ".gitignore"


class Scope(NamedTuple):
    """The *rules* of a file whose folder is *length* bytes of a path, or has *below* above it."""

    rules: Rules
    length: int = 0
    below: bytes = b""

    def verdict(self, path: bytes, name: bytes, *, is_dir: bool) -> bool | None:
        """Return True if *path*, from the workspace, is ignored; None if no rule matches it."""
        return self.rules.verdict(self.below + path[self.length :], name, is_dir=is_dir)


# The rules in force somewhere, outermost first.
Chain = tuple[Scope, ...]


def walk(
    workspace: "Workspace",
    path: str = ".",
    *,
    skip: Collection[str] = (),
    details: bool = True,
    depth: int = 0,
    left_out: LeftOut | None = None,
) -> "Iterator[Entry]":
    """Walk the tree like `walk_tree`, without paths that git ignores."""
    sieve = _sieve(workspace, skip, depth, left_out)
    return walk_tree(workspace, path, sieve, details=details)


def list_files(
    workspace: "Workspace",
    path: str = ".",
    *,
    skip: Collection[str] = (),
    depth: int = 0,
    left_out: LeftOut | None = None,
) -> Iterator[Files]:
    """Walk the files of the tree like `walk_files`, without those that git ignores."""
    return walk_files(workspace, path, _sieve(workspace, skip, depth, left_out))


def _sieve(
    workspace: "Workspace", skip: Collection[str], depth: int, left_out: LeftOut | None
) -> Sieve:
    left_out = LeftOut() if left_out is None else left_out
    return Sieve(GitIgnore(workspace, left_out), skip, depth, left_out)


class GitIgnore:
    """The names that git ignores in the folders of *workspace*, for one walk.

    *left_out* gets the names of ignore files that were read only in part.
    """

    def __init__(self, workspace: "Workspace", left_out: LeftOut | None = None) -> None:
        self._workspace = workspace
        self._left_out = left_out
        self._chains: dict[str, Chain] = {}

    def __call__(
        self, folder: str, names: Sequence[str], folders: Sequence[str]
    ) -> Collection[str]:
        """Return those of the *names* of files, and of *folders*, that git ignores in *folder*."""
        chain = self._chain(folder, has_file=_FILE in names)
        if not chain:
            return ()
        prefix = b"" if folder == "." else _encoded(f"{folder}/")
        return [
            *_ignored_files(chain, prefix, names),
            *(
                name
                for name in folders
                if _is_ignored(chain, prefix + (raw := _encoded(name)), raw, is_dir=True)
            ),
        ]

    def ignores(self, path: str) -> bool:
        """Return True if git ignores *path*, or a directory above it; it need not exist."""
        folder, _, name = path.rpartition("/")
        above = self._workspace.resolve(folder or ".")
        names = [*above.split("/"), name] if above != "." else [name]
        for end in range(1, len(names) + 1):
            current = "/".join(names[:end])
            is_dir = end < len(names) or self._is_folder(current)
            chain = self._chain("/".join(names[: end - 1]) or ".", has_file=True)
            if _is_ignored(chain, _encoded(current), _encoded(names[end - 1]), is_dir=is_dir):
                return True
        return False

    def _is_folder(self, path: str) -> bool:
        try:
            return self._workspace.is_dir(path) and self._workspace.resolve(path) == path
        except WorkspaceError:
            return False

    def _chain(self, folder: str, *, has_file: bool) -> Chain:
        """Return the rules that apply to *folder*, which has its own if *has_file*."""
        chain = self._chains.get(folder)
        if chain is None:
            if folder == ".":
                chain = self._with(EXCLUDED, 0, self._above())
            else:
                chain = self._chain(folder.rpartition("/")[0] or ".", has_file=True)
            if has_file:
                length = 0 if folder == "." else len(_encoded(folder)) + 1
                chain = self._with(_FILE if not length else f"{folder}/{_FILE}", length, chain)
            self._chains[folder] = chain
        return chain

    def _above(self) -> Chain:
        above = rules_above(self._workspace.root, MAX_RULE_BYTES)
        return tuple(Scope(rules, below=below) for rules, below in above if rules)

    def _with(self, path: str, length: int, chain: Chain) -> Chain:
        rules = read_rules(self._read(path))
        cut = self._left_out.cut if self._left_out is not None else []
        if rules.is_cut and path not in cut and len(cut) < MAX_CUT_NAMED:
            cut.append(path)
        return (*chain, Scope(rules, length)) if rules else chain

    def _read(self, path: str) -> bytes:
        """Return the beginning of an ignore file; git does not follow a link here either."""
        try:
            # Most files are missing, and the error of `open` takes ten times as long as asking.
            if not self._workspace.is_file(path) or self._workspace.resolve(path) != path:
                return b""
            with self._workspace.open(path) as file:
                return file.read(MAX_RULE_BYTES)
        except (WorkspaceError, OSError):
            return b""


def _ignored_files(chain: Chain, prefix: bytes, names: Sequence[str]) -> list[str]:
    """Return those of the *names* of files in one directory, at *prefix*, that are ignored."""
    if not names:
        return []
    joined = _encoded("/" + "/".join(names) + "/")
    doubtful = {name for scope in chain for name in scope.rules.fitting(joined)}
    if not doubtful:
        return []
    left_out = {name for name in doubtful if _is_ignored(chain, prefix + name, name, is_dir=False)}
    return [name for name in names if _encoded(name) in left_out] if left_out else []


def _is_ignored(chain: Chain, path: bytes, name: bytes, *, is_dir: bool) -> bool:
    """Return True if *path*, below the root, is ignored itself, regardless of its parents."""
    for scope in reversed(chain):
        verdict = scope.verdict(path, name, is_dir=is_dir)
        if verdict is not None:
            return verdict
    return False


def _encoded(path: str) -> bytes:
    """Return the bytes that *path* has on the disk: rules are of names, not of escapes."""
    return os.fsencode(unescape_path(path))
