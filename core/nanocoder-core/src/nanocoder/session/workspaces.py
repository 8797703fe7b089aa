"""The workspace of a session: its directory, opened after interrupted changes are restored."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanocoder_files import Readable

from nanocoder.config.config import Config
from nanocoder.config.places import own_folders, state_dir
from nanocoder.errors import ConfigError, ToolError, UsageError

if TYPE_CHECKING:
    from nanocoder_files import Workspace

    from nanocoder.hooks.contributions import Journal


def existing_directory(cwd: str | os.PathLike[str]) -> Path:
    """Return *cwd* resolved; raises UsageError when it is no directory that can be entered."""
    root = Path(cwd)
    try:
        real = root.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the directory {str(root)!r} cannot be used: {problem}") from error
    if not real.is_dir():
        raise UsageError(f"{str(root)!r} is not a directory")
    return real


def open_workspace(
    root: Path,
    journal: "Journal | None",
    config: Config,
    readable: Readable | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    ours: bool = False,
) -> "Workspace":
    """Open the workspace with its backups outside of it and our own places protected.

    *readable* says what may be read, None: everything. *ours* says that *root* lies in such a place
    because a tool of this session put it there.
    """
    from nanocoder_files import Workspace  # 14 modules that a run without calls does not need

    return Workspace(
        root,
        backups=journal.backups if journal is not None else None,
        keep_backups=config.core.keep_backups,
        extra_protected=map(str, own_folders(environment, root=root if ours else None)),
        listener=None if journal is None else partial(journal.append, "file.changed"),
        change_logs=change_logs_dir(environment),
        outputs=journal.outputs if journal is not None else None,
        readable=readable,
    )


def restore_interrupted_changes(
    root: Path, environment: Mapping[str, str], warn: Callable[[str], None]
) -> None:
    """Restore what transactional calls in *root* had changed when their process was killed.

    The temporary file of a killed write is removed.
    """
    folder = change_logs_dir(environment)
    if folder is None or not folder.is_dir():
        return
    from nanocoder_files import discard_orphaned_logs, recover  # mostly there is nothing

    try:
        lines = recover(folder, root)
        if folder.is_dir():
            discard_orphaned_logs(folder, own_folders(environment))
    except (OSError, ToolError) as error:
        lines = [
            f"{folder}: unfinished changes of an earlier session could not be checked: {error}"
        ]
    for line in lines:
        warn(line)


def change_logs_dir(environment: Mapping[str, str]) -> Path | None:
    """Return where transactional calls keep their change logs; it need not exist.

    None where there is no state directory: a killed call can then not be restored.
    """
    try:
        state = state_dir(environment)
    except ConfigError:
        return None
    return state / "change-logs" if state.is_dir() else None
