"""The paths of a sandbox and what programs inside see there, whatever kind of sandbox it is."""

import enum
import os
from typing import NamedTuple


class MountAccess(enum.Enum):
    """The kinds of access to a path inside the sandbox."""

    WRITE = "write"
    READ = "read"
    NOTHING = "nothing"
    PASSABLE = "passable"


class Mount(NamedTuple):
    """At *path*, programs inside see *source*; without one, an empty folder.

    A folder that is PASSABLE cannot be listed, but leads to what other mounts show in it.
    """

    access: MountAccess
    path: str
    source: str = ""


def writable(source: str | os.PathLike[str], path: str | os.PathLike[str] = "") -> Mount:
    """Return the mount that shows *source* at *path*, by default at its own, to be changed."""
    return Mount(MountAccess.WRITE, os.fspath(path or source), os.fspath(source))


def read_only(source: str | os.PathLike[str], path: str | os.PathLike[str] = "") -> Mount:
    """Return the mount that shows *source* at *path*, by default at its own, as it is."""
    return Mount(MountAccess.READ, os.fspath(path or source), os.fspath(source))


def unreadable(path: str) -> Mount:
    """Return the mount that hides the content of the folder *path*."""
    return Mount(MountAccess.NOTHING, path)
