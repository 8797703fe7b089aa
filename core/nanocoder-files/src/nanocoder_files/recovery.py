"""What killed processes have left half done in a directory is taken back before anything else.

That is what calls had changed that are undone when they fail, and the file that a write was making.
"""

import fcntl
import os
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from nanocoder_files import unfinished
from nanocoder_files.held import folder_of, tidied
from nanocoder_files.intents import Intents, discard, leftovers
from nanocoder_files.replay import LateReplay
from nanocoder_files.root import Root


def recover(base: Path, root: Path) -> list[str]:
    """Take back the changes of transactional calls in *root* that were killed.

    The file that a killed write was making is removed.

    *base* is where workspaces keep their intents. Returns lines for the person, none where nothing
    had to be done. Calls of processes that live are left alone. Raises OSError, WorkspaceError.
    """
    folder = folder_of(base, Path(os.path.realpath(root)))
    try:
        guard = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        # A second session waits here until the first one is through.
        fcntl.flock(guard, fcntl.LOCK_EX)
        with closing(Root(root, force_walk=False, extra_protected=())) as opened:
            for path in unfinished.noted(folder):
                unfinished.clear(opened.beneath, path)
            found = list(leftovers(folder))
            return _taken_back(found, opened, base.parent / "kept") if found else []
    finally:
        os.close(guard)
        tidied(folder)


def forget_what_is_gone(base: Path, ours: Iterable[Path]) -> None:
    """Discard what killed processes have left of directories that are not there any more.

    Only of those below *ours*, which we make and remove ourselves: another directory may be on a
    disk that is away. Calls of processes that live are left alone. Raises OSError.
    """
    places = [os.path.realpath(one) for one in ours if one.is_dir()]

    def is_over(root: str) -> bool:
        is_ours = any(root.startswith(f"{place}/") for place in places)
        return is_ours and not os.path.lexists(root)

    with os.scandir(base) as entries:
        folders = [base / one.name for one in entries if one.is_dir(follow_symlinks=False)]
    for folder in folders:
        with suppress(FileNotFoundError):  # its owner has ended meanwhile
            discard(folder, is_over)
            unfinished.discard(folder, is_over)
            tidied(folder)


def _taken_back(found: list[Intents], root: Root, kept: Path) -> list[str]:
    owners = {owner for intents in found for owner in intents.owners}
    replay = LateReplay(root, owners, kept)
    # Calls that were killed together may have worked on the same files.
    changes = [(intent, intents) for intents in found for intent in intents.intents]
    for intent, intents in sorted(changes, key=lambda one: one[0].at, reverse=True):
        replay.undo(intents, intent)
    for intents in found:
        if replay.failed:
            intents.close()
        else:
            intents.remove()
    return _told(found, replay)


def _told(found: list[Intents], replay: LateReplay) -> list[str]:
    restored, lines = replay.restored, []
    if restored.paths:
        what = " and ".join(dict.fromkeys(intents.about for intents in found if intents.intents))
        lines.append(f"{what} was interrupted; restored: {', '.join(restored.paths)}")
    lines += [f"{line} [a call was interrupted]" for line in restored.lost]
    if replay.failed:
        lines.append("the next session here tries again to restore the rest")
    return lines
