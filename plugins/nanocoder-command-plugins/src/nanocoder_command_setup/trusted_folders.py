"""Write down which folders the person trusts; the core reads it at every start."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanocoder import ConfigError, read_trusted, state_dir, trust_entry
from nanocoder_files import holding, replace_file


def trust(
    folder: Path, *, reviewed: bytes | None = None, environment: Mapping[str, str] = os.environ
) -> None:
    """Trust *folder* as it is now; raises ConfigError if that cannot be recorded.

    *reviewed* is the file as the user saw it: one that has changed since is not trusted.
    """
    real = folder.resolve()
    try:
        entry = trust_entry(real)
    except (OSError, ConfigError) as error:
        raise ConfigError(f"{real} cannot be trusted: {error}") from None
    if reviewed is not None and entry["configuration"] != hashlib.sha256(reviewed).hexdigest():
        raise ConfigError(f"{real} is not trusted: its file changed while it was shown; try again")
    _record(real, entry, environment)


def untrust(folder: Path, *, environment: Mapping[str, str] = os.environ) -> None:
    """Take trust in *folder* back; raises ConfigError when that cannot be written down."""
    _record(folder.resolve(), None, environment)


def _record(real: Path, entry: Mapping[str, Any] | None, environment: Mapping[str, str]) -> None:
    """Write down the *entry* of a folder, or remove it: locked, freshly read, in one step."""
    path = state_dir(environment) / "trusted.json"
    try:
        with holding(path.with_suffix(".lock")):
            folders = {**read_trusted(path), str(real): entry}
            if entry is None:
                del folders[str(real)]
            replace_file(path, json.dumps({"folders": folders}, indent=1, sort_keys=True).encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; nothing was changed") from None
