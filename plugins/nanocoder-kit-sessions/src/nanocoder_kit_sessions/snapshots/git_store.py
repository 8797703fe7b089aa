"""A private git repository, outside of every workspace, with the contents of one workspace's files.

The repository is bare and git never sees the workspace: contents are written for it, or reach it
by a pipe. So no attributes, filters, hooks, settings or links of a project have any effect.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from nanocoder import PersonError, unescape_path
from nanocoder_files import holding, private_directory, replace_file
from nanocoder_kit_process import environment, find_program, without_workspace

from nanocoder_kit_sessions.snapshots.objects import (
    has_object,
    head_of,
    name_of,
    set_head,
    write_commit,
)

SETTINGS: Final = {
    "core.compression": "1",
    "core.fsync": "none",
    "core.hooksPath": os.devnull,
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
}
VARIABLES: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DEFAULT_HASH": "sha1",
    "GIT_DEFAULT_REF_FORMAT": "files",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
SESSIONS: Final = "sessions"
LIMIT_S: Final = 30.0
FEW: Final = 100
"""Fewer contents are written without git, which would not pack them either."""
SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
BLOB: Final = re.compile(r"[0-9a-f]{40}")

Content = tuple[str, bytes | None]
"""A path of the workspace and the content of its file, or None for a deleted file."""


class SnapshotError(PersonError):
    """Git is missing or failed: contents cannot be stored."""


def blob_of(data: bytes) -> str:
    """Return the name that git gives to the content *data*."""
    return name_of("blob", data)


class GitStore:
    """The contents of the files of *workspace*, with a reference for each session that needs them.

    *state* is a directory for private files, such as the user's own. Methods raise SnapshotError.
    """

    def __init__(self, state: Path, workspace: Path) -> None:
        name = sha256(bytes(workspace)).hexdigest()[:32]
        self.folder = state / "snapshots" / name
        self._workspace = workspace
        self._variables: dict[str, str] = {}
        self._program = ""
        self._begun: set[str] = set()
        self._at = 0

    @classmethod
    def of_session(cls, folder: Path, workspace: Path) -> Self:
        """Return the store of the session whose own files are in *folder*.

        Sessions that are stored together share one; that of any other is deleted with its folder.
        """
        sessions = folder.parent
        return cls(sessions.parent if sessions.name == SESSIONS else folder, workspace)

    def open(self, session: str, earlier: str = "") -> bool:
        """Open the store for *session*; tell whether it has contents, its own or of *earlier*.

        Creates the repository if there is none.
        """
        with self._locked():
            self._find_git()  # an undo needs git, so report now that it is missing
            if not (self._repository / "HEAD").exists():
                self._git("init", "--bare", "--quiet", "--template=", str(self._repository))
            if not self._has(session):
                if not self._has(earlier):
                    return False
                self._set_head(session, head_of(self._repository, _reference(earlier)))
            self._begun.add(session)
            return True

    def _later(self) -> int:
        """Return a time that is later than those of all sessions before: by it the oldest go."""
        if not self._at:
            last, path = 0, self.folder / "time"
            with suppress(OSError, ValueError):
                last = int(path.read_bytes()[:20])
            self._at = max(int(time.time()), last + 1)
            with suppress(OSError):
                replace_file(path, b"%d" % self._at)
        return self._at

    def keep(self, session: str, contents: Sequence[Content]) -> None:
        """Add *contents* for *session* to the earlier ones.

        A few are stored without their paths: `read` needs only the name of a content.
        """
        _reference(session)
        with self._locked():
            new = [data for _, data in contents if data is not None]
            if len(new) < FEW:
                self._store_few(session, new)
            else:
                self._store_many(session, contents)
            self._begun.add(session)

    def read(self, blob: str) -> bytes:
        """Return a content by the name that `blob_of` gives."""
        if not BLOB.fullmatch(blob) or not (self._repository / "HEAD").exists():
            raise SnapshotError("the snapshot is no longer kept")
        return self._git("cat-file", "blob", blob)

    def forget(self, session: str) -> None:
        """Remove the snapshots of *session*, and with the last session's the repository."""
        if not (self._repository / "HEAD").exists():
            return
        with self._locked():
            self._delete([session])

    def shrink(self, most_bytes: int, besides: str) -> None:
        """Remove snapshots of sessions, the oldest first, but not those of *besides*.

        It ends as soon as the repository has at most *most_bytes*.
        """
        with self._locked():
            if self._size() <= most_bytes:
                return
            for session in self._sessions():
                if self._size() <= most_bytes:
                    return
                if session != besides:
                    self._delete([session])

    @property
    def _repository(self) -> Path:
        return self.folder / "contents.git"

    def _locked(self) -> AbstractContextManager[None]:
        try:
            private_directory(self.folder)
        except OSError as error:
            raise SnapshotError(f"{self.folder}: {error.strerror}") from error
        return holding(self.folder / "lock")

    def _store_few(self, session: str, contents: Sequence[bytes]) -> None:
        parent = head_of(self._repository, _reference(session)) if session in self._begun else ""
        if session in self._begun and not parent:
            raise SnapshotError("the snapshots of this session were removed meanwhile")
        try:
            commit = write_commit(self._repository, parent, contents, self._later())
        except OSError as error:
            raise SnapshotError(f"{self._repository}: {error.strerror}") from error
        self._set_head(session, commit)

    def _store_many(self, session: str, contents: Sequence[Content]) -> None:
        reference = _reference(session)
        head = f"commit {reference}\ncommitter nanocoder <> {self._later()} +0000\ndata 0\n"
        parent = f"from {reference}^0\n" if session in self._begun else ""
        # A folder may have replaced a file, so deletions come first.
        ordered = sorted(contents, key=lambda content: content[1] is not None)
        entries = (piece for path, data in ordered for piece in _entry(path, data))
        pieces = [f"{head}{parent}".encode(), *entries, b"done\n"]
        words = ("fast-import", "--quiet", "--force", "--done")
        self._git(*words, pieces=pieces)

    def _set_head(self, session: str, commit: str) -> None:
        try:
            set_head(self._repository, _reference(session), commit)
        except OSError as error:
            raise SnapshotError(f"{self._repository}: {error.strerror}") from error

    def _delete(self, sessions: Iterable[str]) -> None:
        for session in sessions:
            if self._has(session):
                self._git("update-ref", "-d", _reference(session))
        if self._sessions():
            self._git("gc", "--quiet", "--prune=now")
        else:
            shutil.rmtree(self._repository, ignore_errors=True)
            for looks in self.folder.glob("*.looks"):  # they are of no use without contents
                looks.unlink(missing_ok=True)

    def _has(self, session: str) -> bool:
        if not SESSION.fullmatch(session):
            return False
        commit = head_of(self._repository, _reference(session))
        if not commit or has_object(self._repository, commit):
            return bool(commit)
        with suppress(SnapshotError):
            self._git("rev-parse", "--verify", "--quiet", f"{_reference(session)}^{{commit}}")
            return True
        return False

    def _sessions(self) -> list[str]:
        words = ("--sort=committerdate", "--format=%(refname:lstrip=2)", "refs/sessions")
        return self._git("for-each-ref", *words).decode().split()

    def _size(self) -> int:
        total = 0
        for folder, _, names in os.walk(self._repository):
            for name in names:
                with suppress(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total

    def _git(self, *words: str, pieces: Iterable[bytes] = ()) -> bytes:
        self._find_git()
        options = [word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}")]
        command = [self._program, "--no-pager", *options, *words]
        try:
            completed = subprocess.run(
                command,
                cwd=self.folder,
                env=self._variables,
                input=b"".join(pieces),
                capture_output=True,
                start_new_session=True,
                timeout=LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SnapshotError(f"git {words[0]} failed: {error}") from error
        if completed.returncode:
            problem = completed.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise SnapshotError(f"git {words[0]} failed: {problem or completed.returncode}")
        return completed.stdout

    def _find_git(self) -> None:
        """Choose the program and its environment once: to follow the links of PATH takes time."""
        if self._program:
            return
        variables = {**environment(os.environ, workspace=self._workspace), **VARIABLES}
        variables["PATH"] = without_workspace(variables["PATH"], self._workspace)
        variables["GIT_DIR"] = str(self._repository)
        self._variables = variables
        self._program = find_program("git", variables["PATH"], self._workspace)
        if not self._program:
            raise SnapshotError("git is not installed, or not on PATH")


def _reference(session: str) -> str:
    if not SESSION.fullmatch(session):
        raise SnapshotError(f"{session!r} is not the name of a session")
    return f"refs/sessions/{session}"


def _entry(path: str, data: bytes | None) -> Iterable[bytes]:
    """Return the lines of `git fast-import` that set *path*, or remove it."""
    name = os.fsencode(unescape_path(path))
    quoted = b'"' + b"".join(_quoted(byte) for byte in name) + b'"'
    if data is None:
        return [b"D ", quoted, b"\n"]
    return [b"M 100644 inline ", quoted, b"\ndata %d\n" % len(data), data, b"\n"]


def _quoted(byte: int) -> bytes:
    is_plain = 0x20 <= byte < 0x7F and byte not in b'"\\'  # noqa: PLR2004 - printable ASCII
    return bytes([byte]) if is_plain else b"\\%03o" % byte
