"""The files of a repository that come back from a sandbox: HEAD, index, references and the like.

Programs inside may put anything in their place while they are read.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final

from nanocoder_kit_sandbox.git_folder import (
    LOCK,
    OF_CHECKOUT,
    OF_REPOSITORY,
    PACKED,
    read_file,
)
from nanocoder_kit_sandbox.kept_objects import opened_folder, remove

HEAD: Final = "HEAD"
INDEX: Final = "index"
REFS: Final = "refs/"
LOGS: Final = "logs/"
FOLDERS: Final = ("refs", "logs")
"""Folders of which each file comes back."""
_SHARED: Final = (REFS, f"{LOGS}{REFS}")
"""The prefixes of names that all checkouts of a repository share."""
SYMBOLIC: Final = b"ref: "
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_DEPTH: Final = 64
MAX_NAMES: Final = 250_000
MAX_BYTES: Final = 256 << 20

Files = Mapping[str, bytes]
"""Contents by the names that git has for its files, such as "HEAD" or "refs/heads/main"."""
State = tuple[int, int, int, int] | None
_Earlier = tuple[dict[str, State], dict[str, bytes]]


class GitFiles:
    """Those files on one side of a sandbox, in *folders*: the repository's and the checkout's."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._folders = folders
        self._files: dict[str, bytes] = {}
        self._states: dict[str, State] = {}
        self.problem = ""
        """A name that is no file of git's, since the files were read."""

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return f"{self.folder(name)}/{name}"

    def has(self, path: str) -> bool:
        """Return True if *path* is one of the files, or a missing one would have it."""
        return path in self._states

    def read(self) -> Files:
        """Return the files; the same object as before while nothing changed."""
        is_known = bool(self._states)
        if not is_known or any(_state(path) != state for path, state in self._states.items()):
            self._read_anew()
        return self._files

    def folder(self, name: str) -> str:
        """Return the folder that a file's name is in; checkouts have one of their own."""
        is_shared = name in OF_REPOSITORY or name.startswith(_SHARED)
        return self._folders[0 if is_shared else -1]

    def _read_anew(self) -> None:
        earlier = self._states, self._files
        self._states, self._files, self.problem = {}, {}, ""
        for name in (*OF_REPOSITORY, *OF_CHECKOUT):
            self._add(name, self.path(name), None, earlier)
        for folder in dict.fromkeys(self._folders):
            for top in (f"{folder}/{name}" for name in FOLDERS):
                state = self._states[top] = _state(top)
                if state is not None and stat.S_ISDIR(state[-1]):
                    try:
                        self._walk(folder, top, earlier)
                    except OSError as error:
                        self._refuse(error)
                elif state is not None:
                    self.problem = os.path.basename(top)

    def _walk(self, folder: str, top: str, earlier: _Earlier) -> None:
        size = 0
        for path, folders, files, descriptor in os.fwalk(top, onerror=self._refuse):
            self._states[path] = _state(path)
            prefix = path[len(folder) + 1 :]
            for name in (*folders, *files):
                with suppress(FileNotFoundError):
                    facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    size += facts.st_size
                    if not (stat.S_ISDIR if name in folders else stat.S_ISREG)(facts.st_mode):
                        self.problem = f"{prefix}/{name}"
            if prefix.count("/") > MAX_DEPTH or len(self._states) > MAX_NAMES or size > MAX_BYTES:
                self.problem = prefix
                return
            for name in files:
                full = f"{prefix}/{name}"
                if not name.endswith(LOCK) and self.folder(full) == folder:
                    self._add(full, name, descriptor, earlier)

    def _add(self, name: str, file: str, folder: int | None, earlier: _Earlier) -> None:
        path = self.path(name)
        state = self._states[path] = _state(path)
        states, files = earlier
        try:
            if state is not None and states.get(path) == state and name in files:
                self._files[name] = files[name]
            elif state is not None:
                self._files[name] = read_file(file, folder)
        except OSError as error:  # it is no regular file, too large, or gone
            is_followed = folder is not None or name == PACKED
            if is_followed and not isinstance(error, FileNotFoundError):
                self.problem = name

    def _refuse(self, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self.problem = os.path.basename(str(error.filename))


def put_file(top: str, name: str, content: bytes | None, time_ns: int) -> None:
    """Let the file *name* in *top* hold *content*, whatever is there; None removes it.

    *time_ns* is when it was written: by that of its index, git sees what may have changed since.
    No link is followed. Raises: OSError.
    """
    folder, _, file = name.rpartition("/")
    with opened_folder(top, folder) as descriptor:
        os.fchmod(descriptor, stat.S_IRWXU)
        remove(file, descriptor)
        if content is not None:
            with open(os.open(file, NEW_FILE, 0o644, dir_fd=descriptor), "wb") as opened:
                opened.write(content)
            os.utime(file, ns=(time_ns, time_ns), dir_fd=descriptor, follow_symlinks=False)


def written_ns(path: str) -> int:
    """Return the time at which a file was written, -1 if it is missing."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return -1


def references(files: Files) -> dict[str, bytes]:
    """Return the value of each reference among *files*, by its name."""
    loose = {name: content.strip() for name, content in files.items() if name.startswith(REFS)}
    return {**_packed(files.get(PACKED, b"")), **loose}


@lru_cache(maxsize=4)
def _packed(content: bytes) -> Mapping[str, bytes]:
    lines = (line for line in content.splitlines() if not line.startswith((b"#", b"^")))
    parts = (line.partition(b" ") for line in lines)
    return {os.fsdecode(name): value for value, _, name in parts}


def _state(path: str) -> State:
    """Return the state of a file, which differs after each change; None if it is missing."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_ctime_ns, facts.st_size, facts.st_mode
