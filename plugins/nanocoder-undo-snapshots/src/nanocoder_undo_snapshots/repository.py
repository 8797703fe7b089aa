"""Losses in the repository at a workspace's `.git` by commands: branches, tags, stashes.

A commit advances a branch and loses nothing. A reference that is deleted, overwritten or moved
other than fast-forward is a change like that of a file: undo restores the old value. Objects are
not copied: git itself preserves unreachable ones for two weeks.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from attrs import define, field
from nanocoder import NanocoderError, ToolError, Workspace
from nanocoder_files import Change, FileKind, FileState
from nanocoder_kit_files.glob.walks import Sieve, walk_files
from nanocoder_kit_process.git import git
from nanocoder_kit_sessions.snapshots import CommandChange, blob_of
from nanocoder_kit_sessions.snapshots.listing import Stamp, may_change_unseen, stamps_of

HEAD: Final = "HEAD"
_GIT: Final = ".git/"
_INDEX, _PACKED = "index", "packed-refs"
_STASH: Final = "refs/stash"
_NAMED: Final = frozenset(f"{_GIT}{name}" for name in (HEAD, _INDEX, _PACKED))
_FOLDERS: Final = {".git": 1, ".git/refs": 0, ".git/logs": 0}
"""The folders to scan, with the depth; 0 is unlimited."""
_OF_REMOTES: Final = ("refs/remotes/", "logs/refs/remotes/")
"""Prefixes of references that a fetch restores."""
_MOVING: Final = (HEAD, "refs/heads/")
_HASH: Final = rb"[0-9a-f]{40,64}"
_MODE: Final = 0o644

Files = Mapping[str, bytes]
"""Contents by the paths of files, relative to `.git`."""


@define
class Repository:
    """The references and their logs in *workspace*'s repository, each file at most *most_bytes*.

    An unchanged file is not read again.
    """

    workspace: Workspace
    most_bytes: int
    _latest: dict[str, tuple[Stamp | None, bytes]] = field(factory=dict)
    _files: Files = field(factory=dict)

    def look(self) -> Iterator[tuple[CommandChange, bytes]]:
        """Yield the losses since the last look, each with the old content."""
        before, self._files = self._files, self._read()
        after = self._files
        if HEAD not in before or HEAD not in after or before == after:
            return
        lost = taken_away(before, after, self._is_forward)
        for path, data in sorted(lost.items()):
            now = after.get(path)
            state = FileState() if now is None else _state(now)
            yield CommandChange(Change(_GIT + path, _state(data), state), blob_of(data)), data

    def _read(self) -> Files:
        read: dict[str, tuple[Stamp | None, bytes]] = {}
        at_ns = time.time_ns()
        for path, stamp in self._stamps():
            earlier = self._latest.get(path)
            if earlier is not None and earlier[0] == stamp:
                read[path] = earlier
                continue
            with suppress(NanocoderError):  # too large, or removed meanwhile
                data = self.workspace.read_bytes(path, max_bytes=self.most_bytes)
                is_settled = not may_change_unseen(stamp, at_ns)
                read[path] = (stamp if is_settled else None), data
        self._latest = read
        return {path.removeprefix(_GIT): data for path, (_, data) in read.items()}

    def _stamps(self) -> Iterator[tuple[str, Stamp]]:
        with suppress(NanocoderError):  # it is elsewhere
            # Opening a missing path would search for similar names.
            if not self.workspace.is_dir(".git"):
                return
            for folder, depth in _FOLDERS.items():
                for files in walk_files(self.workspace, folder, Sieve(depth=depth)):
                    for path, stamp in stamps_of(files, Path(self.workspace.root)):
                        if files.folder != ".git" or path in _NAMED:
                            yield path, stamp

    def _is_forward(self, old: bytes, new: bytes) -> bool:
        """Return True if the commit *new* has *old* in its history."""
        if not re.fullmatch(_HASH, old) or not re.fullmatch(_HASH, new):
            return False

        words = ("rev-list", "--max-count=1", old.decode(), "--not", new.decode(), "--")
        try:
            return not git(Path(self.workspace.root), *words).strip()
        except ToolError:
            return False


def taken_away(
    before: Files, after: Files, is_forward: Callable[[bytes, bytes], bool]
) -> dict[str, bytes]:
    """Return the files of *before* that restore the references lost in *after*.

    A reference that was only in `packed-refs` gets a file of its own, which git prefers.
    """
    now = _values(after)

    def is_lost(name: str, value: bytes) -> bool:
        new = now.get(name, b"")
        if new == value or (new and name == _STASH):  # a stash is its log, which is looked at, too
            return False
        return not (name.startswith(_MOVING) and is_forward(value, new))

    values = _values(before)
    logs = {path: data for path, data in before.items() if path.startswith("logs/")}
    lost = {path: data for path, data in logs.items() if not after.get(path, b"").startswith(data)}
    lost |= {name: value + b"\n" for name, value in values.items() if is_lost(name, value)}
    if f"logs/{_STASH}" in lost and _STASH in values:
        lost[_STASH] = values[_STASH] + b"\n"
    lost = {path: data for path, data in lost.items() if not path.startswith(_OF_REMOTES)}
    if lost and _INDEX in before and before[_INDEX] != after.get(_INDEX):
        lost[_INDEX] = before[_INDEX]
    return lost


def _values(files: Files) -> dict[str, bytes]:
    """Return the values of HEAD and of each branch, tag and other reference."""
    lines = (line.partition(b" ") for line in files.get(_PACKED, b"").splitlines())
    values = {name.decode(errors="surrogateescape"): value for value, _, name in lines if name}
    loose = {path: data for path, data in files.items() if path.startswith("refs/")}
    loose |= {HEAD: files.get(HEAD, b"")}
    values |= {path: data.strip() for path, data in loose.items()}
    return {name: value for name, value in values.items() if not name.endswith(".lock")}


def _state(data: bytes) -> FileState:
    return FileState(FileKind.FILE, sha256(data).hexdigest(), len(data), mode=_MODE)
