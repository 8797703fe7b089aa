"""The paths that nothing inside may change or read; searched again where directories changed."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from nanocoder import ToolError
from nanocoder_files import ProtectionKind, Readable, protection_of
from nanocoder_kit_process.git import Entry, blobs_of, find_repository, is_like_bare, stores_of

from nanocoder_kit_sandbox.targets import is_program, named_by_settings, target_of, targets_of
from nanocoder_kit_sandbox.unchanged import Unchanged, listed

GIT: Final = ".git"
HEAD: Final = "HEAD"
_OF_BARE: Final = (HEAD, "config", "hooks", "config.worktree", "commondir", "gitdir")
_NOT_LOOKED_INTO: Final = frozenset({"node_modules", "site-packages", "dist-packages"})
_VENV: Final = ("bin", "lib", "lib64", "pyvenv.cfg")
_BIN_OF_MODULES: Final = "node_modules/.bin"
_ANYTHING: Final = "/any-name"
MAX_BEHIND_LINKS: Final = 1_000
"""The most links that are followed, and folders behind them by the names that links give them."""
_NO_RULES: Final[Mapping[str, str]] = {}


class Surveyed(NamedTuple):
    """Paths relative to the workspace: *protected* stay as they are, *secret* are masked.

    *stores* are the folders, absolute, in which git may work for the root, some files alone: its
    own `.git`, or those that a `.git` file leads to, of the repository first.
    *closed* are those of *protected* that are folders which cannot be looked into. *targets* are
    what links with protected names, and git's hooks, lead to: as protected, but not by their names.
    *programs* are those of *protected* that an installation makes, *sockets* are of any program.
    *tracked* are the entries of *secret* files in git's index, *objects* git's files with their
    contents, absolute. *by_rule* are those of *protected* that only a rule keeps as they are, with
    the reasons.
    """

    protected: tuple[str, ...]
    secret: tuple[str, ...]
    stores: tuple[str, ...]
    closed: frozenset[str] = frozenset()
    targets: tuple[str, ...] = ()
    programs: frozenset[str] = frozenset()
    sockets: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    tracked: tuple[Entry, ...] = ()
    by_rule: Mapping[str, str] = _NO_RULES


class _Folder(NamedTuple):
    """The names in a folder that matter."""

    folders: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    is_closed: bool = False
    by_rule: Mapping[str, str] = _NO_RULES


class Survey:
    """Looks through one workspace; folders whose names did not change are not read again."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._readable = Readable()
        self._folders = Unchanged(self._look_into)
        self._behind = Unchanged(self._by_rule_in)
        self._links: Mapping[str, str] = {}

    def look(
        self,
        readable: Readable,
        writable: frozenset[str] = frozenset(),
        *,
        knows_links: bool = False,
    ) -> Surveyed:
        """Return the protected and secret paths now, without those in *writable*.

        With *knows_links* only the links of the call before count: a program inside could make a
        link that gives files of the person a name which a rule is about.
        """
        if readable is not self._readable:
            self._readable, self._folders = readable, Unchanged(self._look_into)
            self._behind = Unchanged(self._by_rule_in)
        folders = dict(self._walk())
        links = self._links_to_folders(folders).items()
        self._links = dict(sorted(links & self._links.items() if knows_links else links))
        secret = tuple(path for folder in folders.values() for path in folder.secret)
        sockets = tuple(path for folder in folders.values() for path in folder.sockets)
        closed = frozenset(path for path, folder in folders.items() if folder.is_closed)
        protected = [path for folder in folders.values() for path in folder.protected]
        protected += [path for path in map(_beside_modules, folders) if self._exists(path)]
        repository = find_repository(self._root)
        protected += [*named_by_settings(self._root, repository), *sorted(closed)]
        if writable:
            protected = [path for path in protected if not self._is_let(path, writable)]
        protected = outermost(list(dict.fromkeys(protected)))
        by_rule = self._by_rule_behind_links(folders)
        for folder in folders.values():
            by_rule.update(folder.by_rule)
        stores = stores_of(self._root) if GIT in protected and GIT not in by_rule else ()
        besides = [path for path in protected if path != GIT]
        programs = frozenset(filter(self._is_installed, besides))
        targets = {*targets_of(self._root, besides, by_rule, repository)}
        by_rule = {path: why for path, why in by_rule.items() if path not in protected}
        protected = outermost([*protected, *by_rule])
        targets -= {*protected, *writable, GIT}
        entries = tracked_secrets(secret, stores)
        objects = tuple(objects_of(entries, stores)) if entries else ()
        return Surveyed(
            *(tuple(protected), secret, stores, closed, tuple(sorted(targets))),
            *(programs - by_rule.keys(), sockets, objects, tuple(entries), by_rule),
        )

    def _walk(self) -> Iterator[tuple[str, _Folder]]:
        queue, read = [""], []
        while queue:
            path = queue.pop()
            try:
                folder = self._folders.of(f"{self._root}/{path}")
                read.append(f"{self._root}/{path}")
            except (FileNotFoundError, NotADirectoryError):  # gone meanwhile
                continue
            except OSError:  # also of a path that is too long
                folder = _Folder(is_closed=True)
            queue += folder.folders
            yield path, folder
        self._folders.keep(read)

    def _links_to_folders(self, folders: Mapping[str, _Folder]) -> dict[str, str]:
        """Return the links to *folders*, and where these are."""
        links = [link for folder in folders.values() for link in folder.links]
        if not links:
            return {}
        targets = ((link, target_of(self._root, link)) for link in islice(links, MAX_BEHIND_LINKS))
        return {link: path for link, path in targets if path is not None and path in folders}

    def _by_rule_behind_links(self, folders: Mapping[str, _Folder]) -> dict[str, str]:
        """Return the paths that a rule keeps by names that links give them, with the reasons."""
        if not self._links:
            return {}
        by_rule, queue, read = dict[str, str](), [*self._links.items()], list[str]()
        for name, path in islice(queue, MAX_BEHIND_LINKS):  # it grows meanwhile
            try:
                reasons = self._behind.of(f"{self._root}/{name}")
            except OSError:  # gone meanwhile, or links that lead in a circle
                continue
            read.append(f"{self._root}/{name}")
            by_rule |= {f"{path}/{each}".lstrip("/"): why for each, why in reasons.items()}
            below = (*folders[path].folders, *folders[path].links)
            leads = ((_last(each), self._links.get(each, each)) for each in below)
            queue += [(f"{name}/{last}", to) for last, to in leads if to in folders]
        self._behind.keep(read)
        return by_rule

    def _by_rule_in(self, folder: str) -> Mapping[str, str]:
        names = [each.name for each in listed(folder)]
        return self._read_only(folder.removeprefix(f"{self._root}/"), names)

    def _look_into(self, folder: str) -> _Folder:
        """Return the names in *folder*; raises OSError."""
        path = folder.removeprefix(f"{self._root}/")
        prefix = f"{path}/" if path else ""
        if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
            raise PermissionError
        with os.scandir(folder) as scanned:
            entries = list(scanned)
        is_folder = {each.name: each.is_dir(follow_symlinks=False) for each in entries}
        secret = self._readable.left_out(path, list(is_folder), asks=True)
        not_entered = {*secret, GIT, *_NOT_LOOKED_INTO}
        folders = (name for name, is_one in is_folder.items() if is_one and name not in not_entered)
        by_name = (name for name in is_folder if _is_kept(prefix + name))
        protected = dict.fromkeys((*by_name, *_by_what_is_beside(is_folder)))
        by_rule = self._read_only(path, list(is_folder))
        sockets = (each.name for each in entries if _is_socket(each))
        links = (each.name for each in entries if each.is_symlink() and each.name not in secret)

        def below(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(prefix + name for name in names)

        return _Folder(
            *(below(folders), below(protected), below(sorted(secret)), below(sockets)),
            below(links),
            by_rule={prefix + name: why for name, why in by_rule.items()},
        )

    def _read_only(self, folder: str, names: list[str]) -> Mapping[str, str]:
        try:
            return self._readable.read_only(folder, names)
        except Exception as error:  # of a policy
            problem = f"a policy failed: {type(error).__name__}: {error}"
            raise ToolError(problem, error_class="sandbox_unavailable") from error

    def _is_installed(self, path: str) -> bool:
        """Tell whether *path* is what an installation makes, as a part of an environment."""
        if is_program(path):
            return True
        folder, _, last = path.rpartition("/")
        return last in _VENV and self._exists(f"{folder}/pyvenv.cfg")

    def _is_let(self, path: str, writable: frozenset[str]) -> bool:
        if path in writable:
            return True
        is_below = path.startswith(tuple(f"{each}/" for each in writable))
        return is_below and self._is_installed(path)

    def _exists(self, name: str) -> bool:
        return os.path.lexists(f"{self._root}/{name}")

    def refuse_links(self, names: Surveyed) -> None:
        """Raise ToolError where a protected name is a link, which could be replaced."""
        for path in names.protected:
            if "/" in path or path in names.by_rule:
                continue
            if os.path.islink(f"{self._root}/{path}") and not is_program(path):
                raise ToolError(
                    f"{path!r} decides what runs and is a link, which no sandbox can keep from"
                    f" being replaced; make it a file or a folder, or name it in `writable`",
                    error_class="sandbox_unavailable",
                )


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def tracked_secrets(secret: tuple[str, ...], stores: tuple[str, ...]) -> list[Entry]:
    """Return the entries of *secret* files in the index of a checkout."""
    entries: list[Entry] = []
    for index in _indexes(stores[-1]) if secret and stores else ():
        with suppress(OSError):
            facts = os.stat(index)
            stamp = facts.st_ino, facts.st_size, facts.st_mtime_ns
            entries += _entries_below(index, stamp, secret)
    return entries


def objects_of(entries: list[Entry], stores: tuple[str, ...]) -> Iterator[str]:
    """Yield the files in which git has what was added of *entries*; packs hold it, too."""
    for name in {entry.blob.hex() for entry in entries}:
        path = f"{stores[0]}/objects/{name[:2]}/{name[2:]}"
        if os.path.isfile(path):
            yield path


def _indexes(store: str) -> Iterator[str]:
    """Yield the index of a checkout, and the files that a split one shares."""
    with suppress(OSError):
        for name in os.listdir(store):
            if name == "index" or name.startswith("sharedindex."):
                yield f"{store}/{name}"


@lru_cache(maxsize=4)
def _entries_below(
    index: str, _stamp: tuple[int, ...], secret: tuple[str, ...]
) -> tuple[Entry, ...]:
    """Return the entries of an index in or below *secret*; raises as it is read."""
    left_out = frozenset(secret)
    entries = blobs_of(Path(index).read_bytes())
    return tuple(
        entry
        for entry in entries
        if not left_out.isdisjoint((entry.path, *ancestors((entry.path,))))
    )


def _by_what_is_beside(is_folder: dict[str, bool]) -> Iterator[str]:
    """Yield the names in a folder that are protected as parts of an environment, or repository."""
    if "pyvenv.cfg" in is_folder:
        yield from (name for name in _VENV if name in is_folder)
    if not is_folder.get(HEAD, True) and is_like_bare(is_folder):
        yield from (name for name in _OF_BARE if name in is_folder)


def _is_socket(entry: "os.DirEntry[str]") -> bool:
    if entry.is_symlink() or entry.is_file() or entry.is_dir():
        return False
    return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)


def _beside_modules(folder: str) -> str:
    return f"{folder}/{_BIN_OF_MODULES}" if folder else _BIN_OF_MODULES


def _is_kept(path: str) -> bool:
    """Tell whether *path* itself is protected, and not only as the place of something that is."""
    protection = protection_of(path)
    if protection is None or protection.kind is ProtectionKind.REPOSITORY:
        return False
    return protection_of(path + _ANYTHING) is not None


def outermost(paths: list[str]) -> list[str]:
    """Return *paths* without those below another of them."""
    # Sorted so, what is below a path follows it; a program may make thousands of levels.
    outer, last = set[str](), "\0"  # no path begins so
    for path in sorted([f"{path}/" for path in paths]):
        if not path.startswith(last):
            last = path
            outer.add(path[:-1])
    return [path for path in paths if path in outer]


def ancestors(paths: tuple[str, ...]) -> list[str]:
    """Return the folders above *paths*, the outer ones first: each could be moved away."""
    above: set[str] = set()
    for path in paths:
        names = path.split("/")
        above.update("/".join(names[:end]) for end in range(1, len(names)))
    return sorted(above)


def outer_folders(paths: list[str], most: int) -> list[str]:
    """Return *paths*, or folders that hold them all if there are more than *most*."""
    while len(paths) > most and any("/" in path for path in paths):
        depth = max(path.count("/") for path in paths)
        paths = list(dict.fromkeys(_up_to(path, depth) for path in paths))
    return outermost(paths)


def _up_to(path: str, depth: int) -> str:
    return path.rpartition("/")[0] if path.count("/") == depth else path
