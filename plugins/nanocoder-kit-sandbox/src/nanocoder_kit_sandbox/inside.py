"""The file system in a workspace's sandbox, and its transfer to the outside afterwards."""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Final

from nanocoder import Access, SessionInfo, ToolError, counted
from nanocoder_files import Readable
from nanocoder_kit_process.git import stores_of

from nanocoder_kit_sandbox.arrivals import Arrivals
from nanocoder_kit_sandbox.hidden import is_in, relative_sockets
from nanocoder_kit_sandbox.kept_objects import KeptObjects
from nanocoder_kit_sandbox.mounts import Mount, MountAccess, read_only, unreadable, writable
from nanocoder_kit_sandbox.repository import InnerRepository
from nanocoder_kit_sandbox.sandbox_files import SandboxFiles, unavailable
from nanocoder_kit_sandbox.settings import Settings
from nanocoder_kit_sandbox.survey import Survey, Surveyed, ancestors, outer_folders

HANGS_S: Final = 5.0
"""The time after which another call counts as hanging."""
MAX_LINES: Final = 20
MAX_PATH_BYTES: Final = 4_095
MOST_TOGETHER: Final = 100
"""So many paths of one kind have a mount each; one takes longer the more there are."""
REMOVED: Final = "that a command removed were put back: in the sandbox none goes"
MORE: Final = "and more: the sandbox left more than is listed here"


class Inside:
    """The workspace of one session as programs in its sandbox see it, whatever the sandbox is.

    Methods may be called from any thread.
    """

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._session = session
        self._root = str(session.cwd)
        self._writable = frozenset(settings.writable)
        self._has_network = settings.network
        self._lines: list[str] = []
        self.files = SandboxFiles(session, self._look_again)
        self._survey = Survey(session.cwd)
        self._arrivals = Arrivals(session.cwd)
        self._readable = Readable()
        self._repository: InnerRepository | None = None
        self._settled: frozenset[str] | None = None
        self._guard = threading.Lock()
        lease = self.files.lease
        self._objects = KeptObjects(lease.folder.name)
        for store in stores_of(self._root)[:1]:
            self._objects.put_back_of_killed(store, lease.is_of_living)

    def mounts(self, access: Access = Access.WRITE) -> list[Mount]:
        """Return the mounts for a program that starts now, outer paths first.

        Raises: ToolError (sandbox_unavailable).
        """
        if access is not Access.READ:
            names = self.names()
            with self._guard:
                return [
                    *self._above(names),
                    *self._as_it_is(names),
                    *self._git(names),
                    *self._secret(names),
                ]
        with self._guard:
            names = self._look()
            self._settle(names)
            git = (read_only(store) for store in names.stores[:1] if not is_in(store, [self._root]))
            return [*self._as_it_is(names), *git, *self._secret(names)]

    def names(self, *, may_write: bool = True) -> Surveyed:
        """Return the protected and secret paths for a program that starts now.

        Raises: ToolError (sandbox_unavailable).
        """
        latest = self._note_changes()
        with self._guard:
            names = latest or self._look()
            self._survey.refuse_links(names)
            if may_write and names.stores:
                self._objects.keep(names.stores[0])
            self._settle(names)
            self._arrivals.expect(names)
            self.files.expect_start()
            return names

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; say what, in lines.

        Raises: ToolError (withheld) where that fails.
        """
        try:
            self._note_changes()
        except OSError as error:
            problem = f"the result is withheld: what the sandbox left cannot be undone: {error}"
            raise ToolError(problem, error_class="withheld") from error
        with self._guard:
            lines, self._lines = self._lines, []
        return lines

    def close(self) -> None:
        """Remove what the sandbox left in the workspace, and the session's own files.

        While a call hangs in here, as on a file system that does not answer, a later session does.
        """
        if not self._guard.acquire(timeout=HANGS_S):
            return
        self._guard.release()
        self.files.close()
        self._objects.close()

    def writable_elsewhere(self) -> list[str]:
        """Return the paths outside of the workspace that a person lets programs change."""
        named = (name for name in self._writable if name.startswith(("/", "~")))
        paths = sorted(os.path.realpath(os.path.expanduser(name)) for name in named)
        return [
            path
            for path in paths
            if os.path.exists(path) and not f"{self._root}/".startswith(f"{path.rstrip('/')}/")
        ]

    def hidden(self, path: str) -> Mount:
        """Return the mount by which *path* cannot be read."""
        return unreadable(path) if os.path.isdir(path) else read_only(self.files.mask(path), path)

    def _look(self) -> Surveyed:
        readable, before = self._session.readable.now(), self._readable
        released = self._writable | self._arrivals.installed
        names = self._survey.look(readable, released, knows_links=self._arrivals.is_expecting)
        if readable is not before:
            self._readable = readable
            self._arrivals.accept(
                path for path in names.by_rule if not before.read_only(*_split(path))
            )
        return names._replace(stores=()) if self._is_not_ours(names.stores) else names

    def _is_not_ours(self, stores: tuple[str, ...]) -> bool:
        """Tell whether a repository elsewhere is that of a sub-agent's parent, or all writable."""
        if not stores or stores[0].startswith(f"{self._root}/"):
            return False
        return bool(self._session.origins) or is_in(stores[0], self.writable_elsewhere())

    def _note_changes(self) -> Surveyed | None:
        """Undo what programs inside left; return what is there now, where that was looked for."""
        latest = None
        with self._guard:
            # References name objects, which have to be there.
            if self._arrivals.is_expecting and (lost := self._objects.put_back()):
                self._lines.append(f"{counted(lost, 'object')} of git {REMOVED}")
            if self._repository is not None:
                self._lines += self._repository.bring_back()
            if self._arrivals.is_expecting:
                is_idle = self.files.is_idle
                latest, moved = self._arrivals.move_away(self._look)
                self._lines += moved
                self._arrivals.is_expecting = not is_idle
            # The first lines say what happened; a hostile program could cause any number.
            if len(self._lines) > MAX_LINES:
                self._lines[MAX_LINES - 1 :] = [MORE]
        return latest

    def _look_again(self) -> None:
        """Undo what programs left that still run, or that ended after their call."""
        try:
            self._note_changes()
        except (OSError, ToolError) as error:
            with self._guard:
                self._lines.append(str(error))

    def _settle(self, names: Surveyed) -> None:
        """Record the names that existed while nothing ran inside.

        A program that still runs can put a link in the place of what it made, while a mount is made
        of that. It cannot do so with what was there before it: that is a mount for it.
        """
        if self._settled is None or self.files.is_idle:
            paths = (*names.protected, *names.secret)
            # No mount, and no program by that name, has a path that is too long.
            most = MAX_PATH_BYTES - len(os.fsencode(self._root))
            self._settled = frozenset(path for path in paths if len(os.fsencode(path)) < most)

    def _in_place(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if self._settled and path in self._settled)

    def _mountable(self, names: Surveyed) -> tuple[str, ...]:
        """Return the paths that a mount keeps as they are."""
        paths = self._in_place(names.protected)
        by_rule = outer_folders([path for path in paths if path in names.by_rule], MOST_TOGETHER)
        return (*(path for path in paths if path not in names.by_rule), *by_rule)

    def _above(self, names: Surveyed) -> Iterator[Mount]:
        """Keep the folders above what stays as it is: one could be put in the place of another."""
        paths = (*self._mountable(names), *self._in_place(names.secret))
        for folder in ancestors((*paths, *names.targets)):
            yield writable(f"{self._root}/{folder}")

    def _as_it_is(self, names: Surveyed) -> Iterator[Mount]:
        inside = (*self._mountable(names), *names.targets)
        paths = (f"{self._root}/{path}" for path in inside)
        return (
            read_only(path)
            for path in paths
            if path not in names.stores and not os.path.islink(path)
        )

    def _git(self, names: Surveyed) -> list[Mount]:
        stores = names.stores
        if not stores:
            self._repository = None
            return []
        # On a disk that is read-only, or in the repository of another user: it can only be read.
        if not all(os.access(store, os.W_OK) for store in stores):
            return [read_only(stores[0])]
        denied = frozenset(f"{self._root}/{path}" for path in names.protected)
        try:
            if self._repository is None or stores != self._repository.stores:
                folder = self.files.git / str(time.monotonic_ns())
                self._repository = InnerRepository(
                    stores, folder, self._root, lambda: self.files.is_idle
                )
            return self._repository.mounts(denied)
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
            raise unavailable("sandbox", f"its copy of .git cannot be made: {problem}") from error

    def _secret(self, names: Surveyed) -> Iterator[Mount]:
        for path in (*names.secret, *self._foreign_sockets(names)):
            real, below = os.path.realpath(f"{self._root}/{path}"), f"{path}/"
            tracked = {each.path for each in names.tracked if each.path.startswith(below)}
            tracked = {name for name in tracked if os.path.isfile(f"{self._root}/{name}")}
            if not 0 < len(tracked) <= MOST_TOGETHER:
                yield self.hidden(real)
                continue
            # Git fails where it cannot look whether a file is still there.
            yield Mount(MountAccess.PASSABLE, real)
            yield from (self.hidden(f"{self._root}/{name}") for name in sorted(tracked))
        yield from map(self.hidden, names.objects)

    def _foreign_sockets(self, names: Surveyed) -> list[str]:
        """Return the sockets in the workspace that may be of programs outside.

        Such a program may know its socket by a relative path, and only the last name is sure. With
        the network of this machine they are not told from those of programs inside.
        """
        if not names.sockets or self._has_network:
            return []
        relative = relative_sockets()
        return [path for path in names.sockets if os.path.basename(path) in relative]


def _split(path: str) -> tuple[str, list[str]]:
    folder, _, name = path.rpartition("/")
    return folder, [name]
