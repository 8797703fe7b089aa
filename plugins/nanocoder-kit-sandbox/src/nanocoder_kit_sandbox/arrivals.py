"""Protected names that appear while something runs in the sandbox, and that are moved away then.

Programs outside act by such names: an editor by `.vscode`, git by a repository, shells by `.envrc`.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from secrets import token_hex
from typing import Final

from nanocoder import ToolError
from nanocoder_files import closing_file, protection_of
from nanocoder_kit_process.git import reason_not_harmless
from nanocoder_kit_process.trees import give_rights

from nanocoder_kit_sandbox.layers import clip_path
from nanocoder_kit_sandbox.survey import GIT, Surveyed

MARK: Final = "from-sandbox-"
MOVES_S: Final = 20.0
"""The time limit for moving away names that a program inside goes on making."""
_NAME_CHARS: Final = 50  # of at most 4 bytes each; a name has up to 255 bytes
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Arrivals:
    """The protected names of one workspace that were not there when something started inside."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.installed: frozenset[str] = frozenset()
        """Environments and programs that were installed inside, and may be changed there."""
        self._expected: dict[str, str | None] = {}
        self.is_expecting = False

    def expect(self, names: Surveyed) -> None:
        """Take the names that exist now for the person's own, if nothing could make them inside.

        What runs inside already could: then only what was expected before is the person's own.
        """
        if not self.is_expecting:
            self._expected = {name: self._kind(name) for name in names.protected}
        self.is_expecting = True

    def accept(self, names: Iterable[str]) -> None:
        """Take *names* for the person's own: a rule about them began to hold, nothing made them."""
        for name in names:
            self._expected.setdefault(name, self._kind(name))

    def move_away(self, look: Callable[[], Surveyed]) -> tuple[Surveyed, list[str]]:
        """Rename what was made inside; return what is there now, and a line for each name.

        Raises: ToolError (withheld) where a program makes names faster than they are moved.
        """
        lines: list[str] = []
        names = look()
        until = time.monotonic() + MOVES_S
        while True:
            new = [name for name in names.protected if self._is_new(name)]
            installed = {name for name in new if name in names.programs and not self._is_run(name)}
            self.installed |= installed
            new = [name for name in new if name not in installed]
            if not new:
                return names, lines
            for name in new:
                if time.monotonic() > until:
                    raise ToolError(_too_many(name), error_class="withheld")
                reason = names.by_rule.get(name) or _reason(name)
                line = self._undo(name, reason, is_closed=name in names.closed)
                lines += [line] if line else []
            names = look()

    def _is_new(self, name: str) -> bool:
        if name in self._expected:
            return self._expected[name] not in (None, self._kind(name))
        folder, _, last = name.rpartition("/")
        # A harmless repository is looked at again each time: what still runs inside may change it.
        return last != GIT or reason_not_harmless(f"{self._root}/{folder}") is not None

    def _is_run(self, name: str) -> bool:
        """Tell whether a shell outside finds programs at *name*, by PATH."""
        inside = f"{self._root}/{name}/"
        entries = filter(None, os.environ.get("PATH", "").split(":"))
        return any(
            f"{os.path.normpath(os.path.join(self._root, entry))}/".startswith(inside)
            or (not entry.startswith("/") and inside.endswith(f"/{os.path.normpath(entry)}/"))
            for entry in entries
        )

    def _kind(self, name: str) -> str | None:
        """Return the type of a name, and where it leads if it is a link; None if it is gone."""
        path = f"{self._root}/{name}"
        try:
            kind = stat.S_IFMT(os.lstat(path).st_mode)
            return f"{kind:o} {os.readlink(path) if kind == stat.S_IFLNK else ''}"
        except OSError:
            return None

    def _undo(self, name: str, reason: str, *, is_closed: bool) -> str:
        """Move a name away, or open up a folder that cannot be listed; say what was done.

        "": it is gone.
        """
        folder, _, last = name.rpartition("/")
        path = clip_path(name)
        try:
            outer = self._open(folder)
        except OSError:  # gone, or no folder any more
            return ""
        with closing_file(outer):
            if is_closed and _is_opened_up(last, outer):
                return f"{path} could not be listed after a program in the sandbox, and now can"
            if is_closed:
                self._expected[name] = self._kind(name)
                return f"{path} was made in the sandbox and cannot be looked into"
            try:
                fresh = _move(last, outer)
            except FileNotFoundError:
                return ""
            except OSError as error:
                self._expected[name] = None  # it is said once
                return f"{path} was made in the sandbox and cannot be moved away: {error.strerror}"
        beside = f"{folder}/{fresh}" if folder else fresh
        self._expected[beside] = self._kind(beside)  # a rule may be about this name, too
        return f"{path} was made in the sandbox and is now {clip_path(beside)}: {reason}"

    def _open(self, folder: str) -> int:
        """Open a folder without following a link, which could lead out; raises OSError."""
        descriptor = os.open(self._root, _FOLDER)
        for part in filter(None, folder.split("/")):
            with closing_file(descriptor) as outer:
                descriptor = os.open(part, _FOLDER, dir_fd=outer)
        return descriptor


def _is_opened_up(name: str, folder: int) -> bool:
    try:
        return give_rights(name, folder)
    except OSError:
        return False


def _move(name: str, folder: int) -> str:
    """Rename in a folder, and return the new name; raises OSError."""
    fresh = MARK + name[:_NAME_CHARS].replace(".", "_")
    if fresh in os.listdir(folder):
        fresh += f"-{token_hex(8)}"  # which a program cannot have taken before
    _is_opened_up(".", folder)  # the mode of a folder that is ours may forbid a renaming
    os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=folder)
    return fresh


def _too_many(name: str) -> str:
    return (
        f"the result is withheld: programs in the sandbox made more names like {clip_path(name)!r},"
        f" which others act by, than could be moved away in {MOVES_S:.0f} seconds; end what runs"
        " inside, and remove them"
    )


def _reason(name: str) -> str:
    protection = protection_of(name)
    return "git acts by it" if protection is None else protection.reason
