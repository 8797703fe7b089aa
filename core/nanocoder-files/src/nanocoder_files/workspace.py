"""The workspace: every file that a tool touches is opened here."""

import os
import stat as mode_of
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from attrs import evolve

from nanocoder_files import content
from nanocoder_files.backups import Backups
from nanocoder_files.changes import ChangeListener, Changes
from nanocoder_files.content import TextFile
from nanocoder_files.path_text import escape_path
from nanocoder_files.protected import Protection
from nanocoder_files.readable import LeftOut, Readable
from nanocoder_files.reader import Outputs, Reader
from nanocoder_files.root import Root
from nanocoder_files.tree import Entry, Files, Sieve, Tree, WalkRules
from nanocoder_files.write_note import WriteNote
from nanocoder_files.writing import Pieces, Written

if TYPE_CHECKING:
    from nanocoder_files.rollback import Rollback
    from nanocoder_files.snapshot import Snapshot


class Workspace:
    """One directory tree. Paths are relative to its root, or absolute and below it.

    Every method raises WorkspaceError, whose error_class tells what is wrong: invalid_path and
    path_outside_workspace all of them, the others as named. What reads a file or goes through
    folders raises read_denied for what *readable* refuses. Methods may be called from any thread.
    """

    def __init__(  # noqa: PLR0913 - these are options, by name
        self,
        root: Path,
        *,
        backups: Path | None = None,
        keep_backups: int = 10,
        force_walk: bool = False,
        extra_protected: Iterable[str] = (),
        listener: ChangeListener | None = None,
        change_logs: Path | None = None,
        outputs: Path | None = None,
        readable: Readable | None = None,
    ) -> None:
        """Open *root*.

        *backups* is a directory outside the workspace for the old content of changed files, the
        first and the newest, *keep_backups* for each; None keeps none. *extra_protected* are
        absolute paths of our own: `is_protected` reports them beside the names it knows, and no
        change is made in them (protected_path). *force_walk* does without openat2. *listener* is
        called with each change before it is made, as the journal's `file.changed`. *change_logs* is
        a directory outside the workspace for what a killed process has to leave behind: the log of
        `recording`, and the name of the temporary file of a write; None: no later session finds
        either. The files in *outputs*, a directory of ours, can be read by their absolute paths,
        and not changed. *readable* says which paths may be read, `SessionInfo.readable` in a
        session; None: all.
        """
        self._root = Root(root, force_walk=force_walk, extra_protected=extra_protected)
        self.root = self._root.path
        self._tree = Tree(self._root)
        self._reader = Reader(self._root, Outputs(outputs), readable or Readable())
        self._backups = Backups(backups, keep_backups) if backups else None
        self._change_logs = change_logs
        write_note = WriteNote(change_logs, self.root)
        self._changes = Changes(self._root, self._backups, listener, write_note)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory; the workspace cannot be used afterwards."""
        self._changes.write_note.close()
        self._root.close()

    # Paths

    def relative(self, path: str) -> str:
        """Return *path* relative to the root, "." for the root; nothing needs to exist.

        Links stay as they are, unless ".." makes it necessary to know where they lead.
        """
        if self._reader.outputs.has(path):
            return path
        raw = self._root.raw(path)
        return escape_path(self._root.resolved(raw) if ".." in raw.split("/") else raw)

    def resolve(self, path: str) -> str:
        """Return *path* relative to the root with its links followed as far as it exists.

        Raises: symlink_loop.
        """
        if self._reader.outputs.has(path):
            return path
        raw = self._root.raw(path)
        self._root.note(raw, is_known=False)
        return escape_path(self._root.resolved(raw))

    def real_path(self, path: str) -> Path:
        """Return the absolute path with its links resolved, to hand to another program.

        What lies there may be swapped before that program looks: prefer `open` where it is enough.
        Raises: stale_read for a directory that is not the one that a person was shown.
        """
        if self._reader.outputs.has(path):
            return Path(path)
        raw = self._root.raw(path)
        resolved = self._root.resolved(raw)
        self._changes.check_directory(raw, resolved)
        return self.root / resolved

    def is_protected(self, path: str) -> str:
        """Say why *path* must not be changed without asking a person; "" when it may be.

        Both its names and those where its links lead count, in any case; nothing needs to exist.
        """
        why = self.protection(path)
        return "" if why is None else why.reason

    def protection(self, path: str) -> Protection | None:
        """Return the same with its kind; None when *path* may be changed."""
        return self._root.protection(self._root.raw(path))

    # Reading

    def open(self, path: str) -> BinaryIO:
        """Open a regular file for reading.

        Raises: file_not_found, is_a_directory, not_a_regular_file, permission_denied, symlink_loop.
        """
        fd = self._reader.open(path)[0]
        os.set_blocking(fd, True)
        return os.fdopen(fd, "rb")

    def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """Return the content of a file of at most *max_bytes* (None: 50 MB).

        Raises: too_large, and what `open` raises.
        """
        return self._reader.read(path, max_bytes)[0]

    def read_text(self, path: str, *, max_bytes: int | None = None) -> str:
        r"""Return a file's text with "\n" at its line ends; see `read_file`."""
        return self.read_file(path, max_bytes=max_bytes).text

    def read_file(self, path: str, *, max_bytes: int | None = None, note: bool = True) -> TextFile:
        """Read a text file and remember its digest, so that a write finds out if it changed.

        Without *note* nothing is remembered: for a reader that shows the content to nobody.

        Raises: binary_file, too_large, and what `open` raises.
        """
        data, canonical, status = self._reader.read(path, max_bytes)
        file = content.decode(escape_path(canonical), data, mode_of.S_IMODE(status.st_mode))
        if note:
            self._changes.known_files[canonical] = file.digest
        return file

    def note_read(self, path: str, version: str | os.stat_result) -> None:
        """Remember that *path* was read: its SHA-256, or what `fstat` said; "" forgets it."""
        if self._reader.outputs.has(path):
            return
        self._changes.known_files.note(self._root.resolved(self._root.raw(path)), version)

    def has_read(self, path: str) -> bool:
        """Tell whether this session has read *path*, or written all of it."""
        return self._root.resolved(self._root.raw(path)) in self._changes.known_files

    def digest_of(self, path: str) -> str:
        """Return the SHA-256 of a file's bytes in hexadecimal; raises what `read_bytes` raises."""
        return content.digest(self.read_bytes(path))

    def encode(self, text: str, like: TextFile | None = None) -> bytes:
        """Return *text* as bytes with the encoding, mark and line ends of *like* (None: UTF-8).

        Raises: invalid_arguments for a character that the encoding does not have.
        """
        return content.encode(text, like)

    def stat(self, path: str) -> os.stat_result:
        """Return the status of what *path* leads to, links followed; raises file_not_found."""
        if self._reader.outputs.has(path):
            return self._reader.outputs.status(path)
        return self._root.status(self._root.raw(path))

    def exists(self, path: str) -> bool:
        """Tell whether *path* leads to anything."""
        return self._mode(path) != 0

    def is_file(self, path: str) -> bool:
        """Tell whether *path* leads to a regular file."""
        return mode_of.S_ISREG(self._mode(path))

    def is_dir(self, path: str) -> bool:
        """Tell whether *path* leads to a directory."""
        return mode_of.S_ISDIR(self._mode(path))

    # Listing

    def scan(self, path: str = ".") -> list[Entry]:
        """List one directory, sorted by name.

        Raises: file_not_found, not_a_directory, permission_denied.
        """
        raw = self._root.raw(path)
        return self._reader.passed(self._root.resolved(raw), self._tree.scan(raw))

    def walk(
        self,
        path: str = ".",
        *,
        rules: WalkRules | None = None,
        skip: Collection[str] = (),
        hidden: bool = True,
        details: bool = True,
        depth: int = 0,
        left_out: LeftOut | None = None,
    ) -> Iterator[Entry]:
        """Go through the tree below *path*: names sorted, each directory before its content.

        Links are listed and never followed. `.git` is left out, as are names in *skip*, names with
        a dot at their start unless *hidden*, and what *rules* leave out. Directories that cannot be
        read are listed with a *problem*. Without *details* no entry has size and time, which is
        faster. *depth* is how many levels to go through, 0 for all. *left_out* is told of what
        policies keep out. Raises: what `scan` raises, for *path* itself.
        """
        raw = self._root.resolved(self._root.raw(path))
        walk_filter = self._reader.walk_filter(raw, left_out)
        sieve = Sieve(walk_filter, rules, skip, hidden, depth)
        return self._tree.walk(raw, sieve, details=details)

    def files(
        self,
        path: str = ".",
        *,
        rules: WalkRules | None = None,
        skip: Collection[str] = (),
        depth: int = 0,
        left_out: LeftOut | None = None,
    ) -> Iterator[Files]:
        """Go through what `walk` calls files, some of one directory at a time: that is faster.

        In the order of `walk` and without sizes. Raises: as there.
        """
        raw = self._root.resolved(self._root.raw(path))
        walk_filter = self._reader.walk_filter(raw, left_out)
        return self._tree.files(raw, Sieve(walk_filter, rules, skip, depth=depth))

    def readable_below(self, path: str = ".") -> Callable[[str], bool]:
        """Return what tells whether policies let a walk below *path* get to a path.

        For what another program finds there: paths relative to the workspace, without links.
        Raises: read_denied for *path* itself.
        """
        if self._reader.outputs.has(path):
            return self._reader.outputs.has
        return self._reader.walk_filter(self._root.resolved(self._root.raw(path)), None).passes

    # Changing

    def write_bytes(
        self,
        path: str,
        data: bytes | Pieces,
        *,
        expect_digest: str | None = None,
        expect: bytes | None = None,
        create_parents: bool = True,
        mode: int | None = None,
    ) -> Written:
        """Replace or create a file; at no moment is it half written. *data* may be in pieces.

        Mode, owner and extended attributes stay; a link stays and what it leads to is replaced;
        other hard links keep the old content. *expect_digest* is the SHA-256 that the file must
        have now, "" when it must not exist; *expect* is that content itself, which costs less.
        Without them the file must be as this session last read or wrote it, if it did. A new file
        gets *mode*, or what the umask leaves. Raises: stale_read, file_exists, is_a_directory,
        not_a_regular_file, permission_denied, protected_path, disk_full, too_large.
        """
        return self._changes.write(
            self._root.raw(path),
            [data] if isinstance(data, bytes) else data,
            expect_digest=expect_digest,
            expect=expect,
            create_parents=create_parents,
            mode=mode,
        )

    def write_text(
        self,
        path: str,
        text: str,
        *,
        like: TextFile | None = None,
        expect_digest: str | None = None,
    ) -> Written:
        """Write *text* as bytes like those of *like*; see `encode` and `write_bytes`."""
        return self.write_bytes(path, self.encode(text, like), expect_digest=expect_digest)

    def delete(self, path: str) -> Path | None:
        """Delete a file, or a link and not what it leads to; return where its backup is.

        Raises: file_not_found, is_a_directory, stale_read, protected_path for the root and `.git`.
        """
        return self._changes.delete(self._root.raw(path))

    def move(self, source: str, target: str, *, replace: bool = False) -> Written:
        """Rename a file, a link or a directory; *target* is the new path, not a directory for it.

        Raises: file_not_found, protected_path, file_exists unless *replace* allows a file there,
        and read_denied where that would let be read what *readable* refuses.
        """
        here, there = self._root.raw(source), self._root.raw(target)
        self._reader.refuse_to_reveal(self._tree, here, there)
        return self._changes.move(here, there, overwrite=replace)

    def make_dirs(self, path: str) -> None:
        """Create a directory and those above it, where they are missing.

        Raises: not_a_directory, permission_denied, protected_path.
        """
        self._changes.make_dirs(self._root.raw(path))

    def remove_dir(self, path: str) -> None:
        """Remove an empty directory.

        Raises: file_exists when it is not empty, protected_path, not_a_directory, file_not_found.
        """
        self._changes.remove_dir(self._root.raw(path))

    def recording(
        self, name: str, title: str, *, processes: bool = False
    ) -> "tuple[Workspace, Rollback]":
        """Return this workspace for one call, and what takes back all that is changed through it.

        Each change is logged on the disk before it is made, in a file called like *name*; *title*
        tells a person which call it was, should it be killed. Changes that are not made through the
        workspace are not known here. A file of the call that others change meanwhile
        is taken back, too, where the call starts *processes*, and stays where it does not.
        """
        from nanocoder_files.rollback import LiveRestore, Rollback  # few calls need it

        known_files, lock = self._changes.known_files, self._changes.lock
        restore = LiveRestore(self._root, self._backups, known_files, processes=processes)
        rollback = Rollback(self._change_logs, name, title, restore, lock)
        # The log names every file that a write makes: such a call needs no write note.
        changes = evolve(self._changes, rollback=rollback, write_note=WriteNote())
        return CallWorkspace(self, changes), rollback

    def expecting(self, snapshot: "Snapshot") -> "Workspace":
        """Return this workspace for one call, which changes only what *snapshot* saw.

        A write, a move or a deletion of a path that is no longer what the preview of the call
        showed raises stale_read, as does `real_path` for another directory.
        """
        return CallWorkspace(self, evolve(self._changes, snapshot=snapshot))

    def backups_of(self, path: str) -> list[Path]:
        """Return the copies of what *path* held before changes, oldest first."""
        raw = self._root.resolved(self._root.raw(path))
        return self._backups.of(raw) if self._backups else []

    def _mode(self, path: str) -> int:
        if self._reader.outputs.has(path):
            return self._reader.outputs.mode(path)
        return self._root.mode(self._root.raw(path))


class CallWorkspace(Workspace):
    """The workspace of one call, whose *changes* are recorded, or compared with its preview."""

    def __init__(self, session: Workspace, changes: Changes) -> None:
        """Open nothing: the directory is that of the *session*'s workspace, which closes it."""
        self.__dict__.update(session.__dict__)
        self._changes = changes
