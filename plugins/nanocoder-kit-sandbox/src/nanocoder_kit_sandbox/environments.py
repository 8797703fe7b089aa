"""Virtual environments that a person put on PATH, where a sandbox shows nothing of a place.

Python starts by a link from such an environment and then fails, because it cannot read
`pyvenv.cfg`: so the environment is shown, to be read.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

PLACES: Final = ("/dev", "/run", "/tmp")  # noqa: S108
"""What sandboxes show nothing of, or a place of their own instead."""
MARK: Final = "pyvenv.cfg"


def environments_on_path(
    variables: Mapping[str, str], besides: Iterable[str], *, places: tuple[str, ...] = PLACES
) -> list[str]:
    """Return the environments below *places* whose programs PATH names, resolved and sorted.

    One that holds a path of *besides*, or lies below one, is left out: so are those of the
    workspace, which has rules of its own, and those with something secret.
    """
    apart = tuple(besides)
    return sorted(
        {
            folder
            for folder in _folders(variables.get("PATH", ""))
            if _is_below(folder, places) and not any(_overlap(folder, path) for path in apart)
        }
    )


def _folders(path: str) -> Iterator[str]:
    for entry in path.split(":"):
        if not entry.startswith("/"):
            continue
        folder = os.path.realpath(os.path.dirname(entry.rstrip("/")))
        if _is_ours(folder) and _is_ours(f"{folder}/{MARK}"):
            yield folder


def _is_ours(path: str) -> bool:
    """Tell whether *path* is this user's or root's: in /tmp everybody can make folders."""
    try:
        return os.stat(path, follow_symlinks=False).st_uid in {0, os.getuid()}
    except (OSError, ValueError):
        return False


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    return any(path.startswith(f"{place}/") for place in places)


def _overlap(path: str, other: str) -> bool:
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")
