"""The directory that somebody names to work in."""

import os
from pathlib import Path

from nanocoder.errors import UsageError


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
