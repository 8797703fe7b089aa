"""Which folders the person trusts: by path, device and inode, and by what their file says.

A folder that is replaced by another one, or whose `.nanocoder/config.toml` changes, has to be
trusted again. Trust covers the folders below, as long as they bring no configuration of their own.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanocoder_files import open_private

from nanocoder.config.document import read_project_bytes
from nanocoder.config.places import state_dir
from nanocoder.errors import ConfigError

MAX_BYTES = 16_777_216


def is_trusted(folder: Path, *, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the person trusts *folder* as it is now."""
    try:
        folders = read_trusted(state_dir(environment) / "trusted.json")
        real = folder.resolve()
        if str(real) in folders:
            return bool(folders[str(real)] == trust_entry(real))
        if read_project_bytes(real) is not None:
            return False  # its own configuration was never shown to anybody
        listed = (above for above in real.parents if str(above) in folders)
        return any(folders[str(above)] == trust_entry(above) for above in listed)
    except (OSError, ConfigError):
        return False


def trust_entry(real: Path) -> dict[str, Any]:
    """Return what is remembered of a folder that the person trusts; raises OSError, ConfigError."""
    import hashlib  # few folders are trusted

    status, content = real.stat(), read_project_bytes(real)
    digest = "" if content is None else hashlib.sha256(content).hexdigest()
    return {"device": status.st_dev, "inode": status.st_ino, "configuration": digest}


def read_trusted(path: Path) -> dict[str, Any]:
    """Return the trusted folders of a file; one that makes no sense trusts nothing."""
    try:
        with os.fdopen(open_private(path), "rb") as file:
            folders = json.loads(file.read(MAX_BYTES))["folders"]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return folders if isinstance(folders, dict) else {}
