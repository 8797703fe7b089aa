"""Which folders the person trusts: by path, device and inode, and by what their file says.

A folder that is replaced by another one, or whose `.nanocoder/config.toml` changes, has to be
trusted again. Trust covers the folders below, as long as they bring no configuration of their own.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanocoder_files import holding, open_private, replace_file

from nanocoder.config.document import read_project_bytes
from nanocoder.config.places import state_dir
from nanocoder.errors import ConfigError

MAX_BYTES = 16_777_216


def trust(
    folder: Path, *, reviewed: bytes | None = None, environment: Mapping[str, str] = os.environ
) -> None:
    """Trust *folder* as it is now; raises ConfigError when that cannot be recorded.

    *reviewed* is the file as the person saw it: one that has changed meanwhile is not trusted.
    """
    real = folder.resolve()
    try:
        entry = _entry(real)
    except (OSError, ConfigError) as error:
        raise ConfigError(f"{real} cannot be trusted: {error}") from None
    if reviewed is not None and entry["configuration"] != _digest_of(reviewed):
        raise ConfigError(f"{real} is not trusted: its file changed while it was shown; try again")
    _record(real, entry, environment)


def untrust(folder: Path, *, environment: Mapping[str, str] = os.environ) -> None:
    """Take trust in *folder* back; raises ConfigError when that cannot be written down."""
    _record(folder.resolve(), None, environment)


def is_trusted(folder: Path, *, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the person trusts *folder* as it is now."""
    try:
        folders = _read(state_dir(environment) / "trusted.json")
        real = folder.resolve()
        if str(real) in folders:
            return bool(folders[str(real)] == _entry(real))
        if _digest(real):
            return False  # its own configuration was never shown to anybody
        return any(
            folders.get(str(above)) == _entry(above)
            for above in real.parents
            if str(above) in folders
        )
    except (OSError, ConfigError):
        return False


def _entry(real: Path) -> dict[str, Any]:
    status = real.stat()
    return {"device": status.st_dev, "inode": status.st_ino, "configuration": _digest(real)}


def _digest(real: Path) -> str:
    # Most folders bring no configuration, and then nobody needs a digest.
    content = read_project_bytes(real)
    return "" if content is None else _digest_of(content)


def _digest_of(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """Return the trusted folders; a file that makes no sense trusts nothing."""
    try:
        with os.fdopen(open_private(path), "rb") as file:
            folders = json.loads(file.read(MAX_BYTES))["folders"]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return folders if isinstance(folders, dict) else {}


def _record(real: Path, entry: Mapping[str, Any] | None, environment: Mapping[str, str]) -> None:
    """Write down the *entry* of a folder, or remove it: locked, freshly read, in one step."""
    path = state_dir(environment) / "trusted.json"
    try:
        with holding(path.with_suffix(".lock")):
            folders = {**_read(path), str(real): entry}
            if entry is None:
                del folders[str(real)]
            replace_file(path, json.dumps({"folders": folders}, indent=1, sort_keys=True).encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; nothing was changed") from None
