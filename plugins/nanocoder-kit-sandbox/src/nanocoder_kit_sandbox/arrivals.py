"""Protected names that appear while something runs in the sandbox, and that are moved away then.

Programs outside act by such names: an editor by `.vscode`, git by a repository, shells by `.envrc`.
"""

import math
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple, Self

from nanocoder import ToolError
from nanocoder_files import protection_of
from nanocoder_kit_git import reason_not_harmless

from nanocoder_kit_sandbox.leases import ROOT
from nanocoder_kit_sandbox.survey import GIT, Surveyed

EXPECTED: Final = "expected"
MARK: Final = "from-sandbox-"
MOVES_S: Final = 20.0
"""How long names are moved away that a program inside goes on making."""
_NAME_CHARS: Final = 50  # of at most 4 bytes each; a name has up to 255 bytes
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNREAD: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Kind(NamedTuple):
    """The type of a name, and where it leads if it is a link."""

    type: int
    target: str = ""


class Arrivals:
    """The protected names of one workspace that were not there when something started inside."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.installed: frozenset[str] = frozenset()
        """What programs inside have installed, and may change: environments and their programs."""
        self._expected: dict[str, _Kind | None] = {}
        self.is_expecting = False
        self._until_s = math.inf

    @classmethod
    def of_killed(cls, root: Path, noted: Any, until_s: float) -> Self | None:
        """Return what a killed session expected, as it *noted* it; None for nothing.

        Its commands made nothing that is younger than *until_s*, in seconds since the epoch.
        """
        arrivals = cls(root)
        try:
            for name, kind in noted[EXPECTED].items():
                arrivals._expected[name] = kind and _Kind(*kind)
        except (KeyError, TypeError, AttributeError):
            return None
        arrivals._until_s = until_s
        return arrivals

    def noted(self) -> object:
        """Return what is expected as plain data, for `of_killed`."""
        return {ROOT: self._root, EXPECTED: self._expected}

    def expect(self, names: Surveyed) -> None:
        """Take the names that exist now for the person's own, if nothing could make them inside.

        What runs inside already could: then only what was expected before is the person's own.
        """
        if not self.is_expecting:
            self._expected = {name: self._kind(name) for name in _all(names)}
        self.is_expecting = True

    def move_away(self, look: Callable[[], Surveyed]) -> list[str]:
        """Rename what was made inside; return a line for each name.

        Raises: ToolError (withheld) where a program makes names faster than they are moved.
        """
        lines: list[str] = []
        until = time.monotonic() + MOVES_S
        while True:
            names = look()
            new = [name for name in _all(names) if self._is_new(name)]
            installed = {name for name in new if name in names.programs and not self._is_run(name)}
            self.installed |= installed
            new = [name for name in new if name not in installed]
            if not new:
                return lines
            for name in new:
                if time.monotonic() > until:
                    raise ToolError(_too_many(name), error_class="withheld")
                line = self._open_up(name) if name in names.closed else self._move(name)
                lines += [line] if line else []

    def _is_new(self, name: str) -> bool:
        if self._until_s < math.inf and not self._is_older(name):
            return False
        if name in self._expected:
            return self._expected[name] not in (None, self._kind(name))
        folder, _, last = name.rpartition("/")
        # A harmless repository is looked at again each time: what still runs inside may change it.
        return last != GIT or reason_not_harmless(f"{self._root}/{folder}") is not None

    def _is_older(self, name: str) -> bool:
        """Tell whether something of *name* last changed before the end of a killed session."""
        top = f"{self._root}/{name}"
        try:
            if os.lstat(top).st_ctime <= self._until_s:
                return True
            for _, folders, files, descriptor in os.fwalk(top):
                for each in (*folders, *files):
                    facts = os.stat(each, dir_fd=descriptor, follow_symlinks=False)
                    if facts.st_ctime <= self._until_s:
                        return True
        except OSError:
            return True
        return False

    def _is_run(self, name: str) -> bool:
        """Tell whether a shell outside finds programs at *name*, by PATH."""
        inside = f"{self._root}/{name}/"
        entries = filter(None, os.environ.get("PATH", "").split(":"))
        return any(
            f"{os.path.normpath(os.path.join(self._root, entry))}/".startswith(inside)
            or (not entry.startswith("/") and inside.endswith(f"/{os.path.normpath(entry)}/"))
            for entry in entries
        )

    def _kind(self, name: str) -> _Kind | None:
        path = f"{self._root}/{name}"
        try:
            kind = stat.S_IFMT(os.lstat(path).st_mode)
            return _Kind(kind, os.readlink(path) if kind == stat.S_IFLNK else "")
        except OSError:
            return None

    def _open_up(self, name: str) -> str:
        """Let a folder be listed if it is ours, or move it away as it is."""
        folder, _, last = name.rpartition("/")
        try:
            outer = self._open(folder)
            try:
                opened = _allow_listing(last, outer)
            finally:
                os.close(outer)
        except OSError:
            opened = False
        if opened:
            return f"{name} could not be listed after a program in the sandbox, and now can"
        return self._move(name, "it cannot be listed")

    def _move(self, name: str, reason: str = "") -> str:
        folder, _, last = name.rpartition("/")
        fresh = MARK + last[:_NAME_CHARS].replace(".", "_")
        try:
            descriptor = self._open(folder)
        except OSError:  # gone, or no folder any more
            return ""
        try:
            if fresh in os.listdir(descriptor):
                fresh += f"-{token_hex(8)}"  # which a program cannot have taken before
            _rename(last, fresh, descriptor)
        except FileNotFoundError:
            return ""
        except OSError as error:
            self._expected[name] = None  # it is said once
            return f"{name} was made in the sandbox and cannot be moved away: {error.strerror}"
        finally:
            os.close(descriptor)
        beside = f"{folder}/{fresh}" if folder else fresh
        if reason:
            self._expected[beside] = _Kind(stat.S_IFDIR)
        return f"{name} was made in the sandbox and is now {beside}: {reason or _reason(name)}"

    def _open(self, folder: str) -> int:
        """Open a folder without following a link, which could lead out; raises OSError."""
        descriptor = os.open(self._root, _FOLDER)
        for part in filter(None, folder.split("/")):
            outer = descriptor
            try:
                descriptor = os.open(part, _FOLDER, dir_fd=outer)
            finally:
                os.close(outer)
        return descriptor


def _all(names: Surveyed) -> tuple[str, ...]:
    return (*names.protected, GIT) if names.git else names.protected


def _allow_listing(name: str, folder: int) -> bool:
    """Give us, its owner, every right on a folder; tell whether that was missing."""
    descriptor = os.open(name, _UNREAD, dir_fd=folder)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        # Such a descriptor's file can be changed by its name in /proc only.
        os.chmod(f"/proc/self/fd/{descriptor}", mode | stat.S_IRWXU)
        return mode & stat.S_IRWXU != stat.S_IRWXU
    finally:
        os.close(descriptor)


def _rename(name: str, fresh: str, folder: int) -> None:
    """Rename within a folder, also within ours where its mode forbids that; raises OSError."""
    try:
        os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=folder)
    except PermissionError:
        mode = stat.S_IMODE(os.fstat(folder).st_mode)
        os.fchmod(folder, mode | stat.S_IRWXU)
        try:
            os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.fchmod(folder, mode)


def _too_many(name: str) -> str:
    return (
        f"the result is withheld: programs in the sandbox made more names like {name!r}, which"
        f" others act by, than could be moved away in {MOVES_S:.0f} seconds; end what runs inside,"
        " and remove them"
    )


def _reason(name: str) -> str:
    protection = protection_of(name)
    return "git acts by it" if protection is None else protection.reason
