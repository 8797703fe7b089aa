"""Opening the workspace of a session."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanocoder_files import Readable

from nanocoder.config.config import Config
from nanocoder.config.places import own_folders
from nanocoder.session.crash_recovery import change_logs_dir

if TYPE_CHECKING:
    from nanocoder_files import Workspace

    from nanocoder.session.journal import Journal


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

    artifacts = journal.artifacts if journal is not None else None
    backups = artifacts / "backups" if artifacts is not None else None
    listener = None if journal is None else partial(journal.append, "file.changed")
    return Workspace(
        root,
        backups=backups,
        keep_backups=config.core.keep_backups,
        extra_protected=map(str, own_folders(environment, root=root if ours else None)),
        listener=listener,
        change_logs=change_logs_dir(environment),
        outputs=journal.outputs if journal is not None else None,
        readable=readable,
    )
