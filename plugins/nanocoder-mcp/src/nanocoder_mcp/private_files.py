"""Files of nanocoder's own state that only their owner may read and write."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanocoder import ToolError
from nanocoder_files import open_private, private_directory, replace_file


def read_private(path: Path, most: int) -> bytes:
    """Return the first *most* bytes of a file; raises OSError, and ConfigError for a link."""
    with os.fdopen(open_private(path), "rb") as file:
        return file.read(most)


def write_private(path: Path, content: bytes) -> None:
    """Replace a file, and create its private directory if missing; raises OSError."""
    private_directory(path.parent)
    replace_file(path, content)


def read_json(path: Path, most: int, file_format: int) -> dict[str, Any]:
    """Return the object in a file of *file_format*.

    Raises: OSError and ConfigError as `read_private`, ValueError and KeyError for other content.
    """
    data = json.loads(read_private(path, most))
    if not isinstance(data, dict) or data.pop("format") != file_format:
        raise ValueError(f"{path} has another format")
    return data


def write_json(path: Path, data: Mapping[str, Any], file_format: int) -> None:
    """Replace a file by an object; raises ToolError."""
    try:
        write_private(path, json.dumps({"format": file_format, **data}).encode())
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}") from error
