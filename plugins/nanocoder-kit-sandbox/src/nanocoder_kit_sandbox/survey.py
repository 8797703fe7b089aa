"""Which paths of a workspace nothing inside may change or read; looked up where folders changed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from nanocoder import ToolError
from nanocoder_files import ProtectionKind, Readable, protection_of

MISSING: Final = (
    *(".nanocoder", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".mcp.json"),
    *(".vscode", ".idea", ".devcontainer", ".zed", ".envrc", ".husky", ".githooks", ".github"),
)
"""Names at the workspace's root that other programs act by as soon as they appear."""
MISSING_REPOSITORY: Final = (".git", "HEAD")
"""Names that would make the workspace's root a repository."""
GIT: Final = ".git"
GIT_READ_ONLY: Final = ("config", "config.worktree", "hooks", "modules", "worktrees")
"""What of git's own files decides what runs, or belongs to other checkouts."""
_NOT_LOOKED_INTO: Final = frozenset({"node_modules", "site-packages", "dist-packages"})
_VENV: Final = ("bin", "lib", "lib64", "pyvenv.cfg")
_BIN_OF_MODULES: Final = "node_modules/.bin"
_ANYTHING: Final = "/any-name"


class Surveyed(NamedTuple):
    """Paths relative to the workspace: *protected* exist, *missing* do not, *secret* are masked.

    *git* tells whether the root has a repository of its own, whose other files may be changed.
    """

    protected: tuple[str, ...]
    missing: tuple[str, ...]
    secret: tuple[str, ...]
    git: bool


class _Folder(NamedTuple):
    """The names in a folder that matter; *changed* is when its list of names last changed."""

    changed: int
    folders: tuple[str, ...]
    protected: tuple[str, ...]
    secret: tuple[str, ...]


class Survey:
    """Looks through one workspace; folders whose names did not change are not read again."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._readable: Readable | None = None
        self._folders: dict[str, _Folder] = {}

    def look(self, readable: Readable, writable: frozenset[str] = frozenset()) -> Surveyed:
        """Return what is protected and secret now, without what is in *writable*.

        Raises: ToolError where a protected name is a link, which could be replaced.
        """
        if readable is not self._readable:
            self._readable, self._folders = readable, {}
        folders = list(self._walk(readable))
        secret = tuple(path for folder in folders for path in folder.secret)
        protected = [path for folder in folders for path in folder.protected]
        protected = _outermost([path for path in protected if path not in writable])
        self._refuse_links(protected)
        has_git = GIT in protected and os.path.isfile(f"{self._root}/{GIT}/HEAD")
        if has_git:
            own = (f"{GIT}/{name}" for name in GIT_READ_ONLY)
            protected.remove(GIT)
            protected += [path for path in own if self._exists(path)]
        names = MISSING if self._exists(f"{GIT}/HEAD") else (*MISSING_REPOSITORY, *MISSING)
        hooks = (f"{GIT}/hooks",) if has_git else ()
        missing = [
            name for name in (*names, *hooks) if name not in writable and not self._exists(name)
        ]
        return Surveyed(tuple(protected), tuple(missing), secret, has_git)

    def _walk(self, readable: Readable) -> Iterator[_Folder]:
        queue, earlier = [""], self._folders
        self._folders = {}
        while queue:
            path = queue.pop()
            try:
                changed = os.stat(f"{self._root}/{path}").st_mtime_ns
                folder = earlier.get(path)
                if folder is None or folder.changed != changed:
                    folder = _look_into(self._root, path, changed, readable)
            except OSError:  # gone, or not ours to read
                continue
            self._folders[path] = folder
            queue += folder.folders
            yield folder

    def _exists(self, name: str) -> bool:
        return os.path.lexists(f"{self._root}/{name}")

    def _refuse_links(self, protected: list[str]) -> None:
        for path in protected:
            if "/" not in path and os.path.islink(f"{self._root}/{path}") and not _is_program(path):
                raise ToolError(
                    f"{path!r} decides what runs and is a link, which no sandbox can keep from"
                    f" being replaced; make it a file or a folder, or name it in `writable`",
                    error_class="sandbox_unavailable",
                )


def _look_into(root: str, path: str, changed: int, readable: Readable) -> _Folder:
    prefix = f"{path}/" if path else ""
    with os.scandir(f"{root}/{path}") as entries:
        is_folder = {each.name: each.is_dir(follow_symlinks=False) for each in entries}
    secret = readable.left_out(path, list(is_folder), asks=True)
    protected = [name for name in is_folder if _is_kept(prefix + name)]
    if "pyvenv.cfg" in is_folder:
        protected += [name for name in _VENV if name in is_folder and name not in protected]
    folders = [
        name
        for name, is_one in is_folder.items()
        if is_one and name not in secret and name != GIT and name not in _NOT_LOOKED_INTO
    ]
    if os.path.isdir(f"{root}/{prefix}{_BIN_OF_MODULES}"):
        protected.append(_BIN_OF_MODULES)
    return _Folder(
        changed,
        tuple(prefix + name for name in folders),
        tuple(prefix + name for name in protected),
        tuple(prefix + name for name in sorted(secret)),
    )


def _is_kept(path: str) -> bool:
    """Tell whether *path* itself is protected, and not only as the place of something that is."""
    protection = protection_of(path)
    if protection is None or protection.kind is ProtectionKind.REPOSITORY:
        return False
    return protection_of(path + _ANYTHING) is not None


def _is_program(path: str) -> bool:
    protection = protection_of(path)
    return protection is not None and protection.kind is ProtectionKind.PROGRAM


def _outermost(paths: list[str]) -> list[str]:
    """Return *paths* without those below another of them."""
    outer = set(paths)
    return [path for path in paths if outer.isdisjoint(ancestors((path,)))]


def ancestors(paths: tuple[str, ...]) -> list[str]:
    """Return the folders above *paths*, the outer ones first: each could be moved away."""
    above: set[str] = set()
    for path in paths:
        names = path.split("/")
        above.update("/".join(names[:end]) for end in range(1, len(names)))
    return sorted(above)
