"""Recovery after a kill: unfinished calls are taken back before a session does anything else.

The temporary file that a killed write was making is removed, too.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from nanocoder_files.backups import Backups
from nanocoder_files.beneath import LISTING, Place
from nanocoder_files.change_log import ChangeLog, discard_files, take_over_logs
from nanocoder_files.file_state import FileState
from nanocoder_files.private_files import folder_for, lock_file, remove_if_empty
from nanocoder_files.restore import LogRestore
from nanocoder_files.root import Root
from nanocoder_files.write_note import remove_temporary, take_noted_paths
from nanocoder_files.writing import stray_owner, temporary_name

MAX_COPIES: Final = 1_000


class KilledRestore(LogRestore):
    """How changes of killed processes, *owners* by their numbers, are taken back.

    A file that somebody has changed since is left as it is.
    """

    def __init__(self, root: Root, owners: Iterable[int]) -> None:
        super().__init__(root)
        self._owners = set(owners)

    def _state(self, place: Place) -> FileState:
        """Look at *place* without what a killed write has left half-way beside it."""
        mark = temporary_name(place.name).rpartition(".nc-")[0] + ".nc-"
        for name in _names_beside(place):
            if name.startswith(mark) and stray_owner(name) in self._owners:
                os.unlink(name, dir_fd=place.fd)
        return super()._state(place)


def recover(base: Path, root: Path) -> list[str]:
    """Take back the changes of transactional calls in *root* that were killed.

    The temporary file of a killed write is removed. *base* is the folder of the change logs.
    Returns lines for the person, none where nothing had to be done. Calls of processes that live
    are left alone. Raises OSError, WorkspaceError.
    """
    folder = folder_for(base, Path(os.path.realpath(root)))
    try:
        guard = os.open(folder, LISTING)
    except FileNotFoundError:
        return []
    try:
        # A second session waits here until the first one is through.
        lock_file(guard)
        with closing(Root(root, force_walk=False, extra_protected=())) as opened:
            for path in take_noted_paths(folder):
                remove_temporary(opened.beneath, path)
            logs = list(take_over_logs(folder))
            return _take_back(logs, opened, base.parent / "kept") if logs else []
    finally:
        os.close(guard)
        remove_if_empty(folder)


def discard_orphaned_logs(base: Path, folders: Iterable[Path]) -> None:
    """Discard the logs of killed processes whose files are gone.

    Only those below *folders*, which we make and remove ourselves: another directory may be on a
    disk that is not mounted. Calls of processes that live are left alone. Raises OSError.
    """
    places = [os.path.realpath(folder) for folder in folders if folder.is_dir()]

    def is_over(root: str) -> bool:
        is_ours = any(root.startswith(f"{place}/") for place in places)
        return is_ours and not os.path.lexists(root)

    with os.scandir(base) as entries:
        roots = [base / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in roots:
        with suppress(FileNotFoundError):  # its owner has ended meanwhile
            discard_files(folder, is_over)
            remove_if_empty(folder)


def _take_back(logs: list[ChangeLog], root: Root, copies_folder: Path) -> list[str]:
    restore = KilledRestore(root, (owner for log in logs for owner in log.owners))
    backups = Backups(copies_folder, MAX_COPIES)
    copies: dict[str, Path] = {}
    # Calls that were killed together may have worked on the same files.
    changes = [(change, log) for log in logs for change in log.changes]
    for change, log in sorted(changes, key=lambda pair: pair[0].at, reverse=True):
        restore.undo(log, change)
        path = change.changed_path
        if path in restore.lost and change.before.is_file:
            try:
                # The last copy that is made is of the oldest content.
                copies[path] = backups.add(path, log.data(change))
            except (OSError, ValueError):
                restore.failed = True  # the log stays: it holds the only copy
    for log in logs:
        if restore.failed:
            log.close()
        else:
            log.remove()
    return _messages(logs, restore, copies)


def _messages(logs: list[ChangeLog], restore: LogRestore, copies: Mapping[str, Path]) -> list[str]:
    lines = []
    if restore.paths:
        titles = " and ".join(dict.fromkeys(log.title for log in logs if log.changes))
        lines.append(f"{titles} was interrupted; restored: {', '.join(restore.paths)}")
    for path, line in restore.lost.items():
        copy = f"; its earlier content is in {copies[path]}" if path in copies else ""
        lines.append(f"{line}{copy} [a call was interrupted]")
    if restore.failed:
        lines.append("the next session here tries again to restore the rest")
    return lines


def _names_beside(place: Place) -> list[str]:
    listing = os.open(".", LISTING, dir_fd=place.fd)
    try:
        return os.listdir(listing)
    finally:
        os.close(listing)
