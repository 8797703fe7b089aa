"""The folders that the wheels of this installation came from."""

import sys
import tomllib
from pathlib import Path


def first_links() -> list[str]:
    """Return the options for the folders of wheels that `uv tool install` was given."""
    try:
        receipt = tomllib.loads(Path(sys.prefix, "uv-receipt.toml").read_text(encoding="utf-8"))
        links = [*receipt["tool"]["options"]["find-links"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [word for link in links if isinstance(link, str) for word in ("--find-links", link)]
