"""One open directory and the paths below it."""

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from nanocoder_files import protected
from nanocoder_files.beneath import LISTING, READ, Beneath, check_regular, outside
from nanocoder_files.content import digest
from nanocoder_files.paths import WorkspaceError, check_path, climbs, escape_path, problem
from nanocoder_files.protected import Protection
from nanocoder_files.readable import Readable
from nanocoder_files.resolution import Resolver, Trace
from nanocoder_files.snapshot import RECORDING, Sighting, version_mark

GONE = "{!r} was moved, removed or replaced: end nanocoder, and begin there with --continue"


class Root(Beneath):
    """The open root of a workspace. It opens only *raw* paths, which `raw` has checked."""

    def __init__(self, root: Path, extra_protected: Iterable[str] = ()) -> None:
        # Resolved once: a later change of a link on the way does not affect the descriptor.
        self.path = Path(os.path.realpath(root))
        try:
            super().__init__(os.open(self.path, LISTING), str(self.path))
        except OSError as error:
            raise problem(error, str(root)) from error
        self._resolver = Resolver(self.root, extra_protected)
        self.readable = Readable()

    def close(self) -> None:
        """Close the file descriptor; closing twice is fine."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1  # its number may soon be another file's

    def raw(self, path: str) -> str:
        """Check and tidy *path*, and make it relative; raises WorkspaceError."""
        if self.fd < 0:
            raise WorkspaceError("the workspace is closed", error_class="io_error")
        # Moved or replaced: an operation by its path would reach another directory.
        if not self._is_root(self.root):
            raise WorkspaceError(GONE.format(self.root), error_class="io_error")
        check_path(path)
        raw = self.relative(path)
        if ".." in raw and climbs(raw):
            raise outside(path, self.root)
        return raw

    def resolved(self, raw: str, *, follow: bool = True) -> str:
        """Return *raw* with its links resolved, as far as it exists; raises WorkspaceError.

        Without *follow* the last name may be a link.
        """
        try:
            with self.locate(raw, follow=follow) as place:
                return place.path
        except OSError:  # a directory on the way does not exist, or is forbidden
            trace = Trace(self, raw, follow=follow)
        if not trace.run():
            raise outside(escape_path(raw), self.root)
        if trace.loop is not None:
            raise trace.loop
        return trace.names[-1]

    def protection(self, raw: str) -> Protection | None:
        """Return the protection of *raw*, as it is spelled or with its links resolved."""
        resolved = self._resolver.beneath(self, raw, literal=True)
        if protected.touches(self._prefix + resolved.path, self._resolver.own):
            return protected.STATE
        return resolved.protection

    def refuse_own(self, path: str) -> None:
        """Raise protected_path for a resolved *path* that is nanocoder's own."""
        if protected.touches(self._prefix + path, self._resolver.own):
            raise protected.refused(escape_path(path), protected.IN_STATE)

    @contextlib.contextmanager
    def errors(self, raw: str) -> Iterator[None]:
        """Translate OSErrors of operations on *raw* into WorkspaceError."""
        try:
            yield
        except OSError as error:
            raise self.problem(error, raw) from error

    def open_file(self, raw: str) -> tuple[int, str, os.stat_result]:
        """Open a regular file; return descriptor, path with links resolved, status."""
        try:
            fd, canonical = self.open(raw, READ)
        except OSError as error:
            # A preview records a missing file, too.
            if error.errno == errno.ENOENT:
                self.note(raw)
            raise self.problem(error, raw) from error
        status = os.fstat(fd)
        self.note(raw, status)
        try:
            check_regular(raw, status)
        except WorkspaceError:
            os.close(fd)
            raise
        return fd, canonical, status

    def open_directory(self, raw: str) -> int:
        """Open a directory for listing; raises WorkspaceError."""
        with self.errors(raw):
            return self.open(raw, LISTING)[0]

    def status(self, raw: str) -> os.stat_result:
        """Return the status of *raw*, following links; raises WorkspaceError."""
        with self.errors(raw):
            return self.look(raw)

    def mode(self, raw: str) -> int:
        """Return the mode of *raw*, following links; 0 if nothing is there.

        Unlike `status` it does not search for similar names.
        """
        with self.errors(raw), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return self.look(raw).st_mode
        return 0

    def look(self, raw: str) -> os.stat_result:
        """Return the same; raises OSError."""
        try:
            with self.locate(raw) as place:
                status = place.stat()
        except (FileNotFoundError, NotADirectoryError):
            self.note(raw)
            raise
        self.note(raw, status)
        return status

    def note(
        self,
        raw: str,
        status: os.stat_result | None = None,
        data: bytes | None = None,
        *,
        is_known: bool = True,
    ) -> None:
        """Add *raw* to the current preview; without a status nothing is there."""
        snapshot = RECORDING.get()
        if snapshot is None:
            return
        try:
            path = self.resolved(raw)
        except WorkspaceError:
            path = ""  # a link that leads outside, or in a loop
        seen_digest = "" if data is None else digest(data)
        sighting = Sighting(path, version_mark(status), seen_digest, is_known)
        snapshot.add(self.root, raw, sighting)

    def problem(self, error: OSError, raw: str) -> WorkspaceError:
        """Translate *error*; for a missing file, search for similar names."""
        near: list[str] = []
        if error.errno == errno.ENOENT and self.fd >= 0:
            from nanocoder_files.suggestions import similar_paths  # only mistakes need them

            near = similar_paths(self, self.readable, raw)
        return problem(error, escape_path(raw), near)
