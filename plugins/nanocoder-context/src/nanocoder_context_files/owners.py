"""The owners whose files are trusted: the user, root, and the owner of the workspace."""

import os
import pwd
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

ROOT: Final = 0


class Owners:
    """The users whose files may instruct the model.

    Another user can put a file into a folder that many may write, such as /tmp, or into a folder
    above the workspace. The person who works in a workspace knows who owns it.
    """

    def __init__(self, workspace: Path, named: Iterable[str] = ()) -> None:
        """Trust root, the user, the owner of *workspace*, and the *named* users."""
        self._trusted = {ROOT, os.geteuid(), *filter(None, map(_user_id, named))}
        with suppress(OSError):  # a removed workspace has no files either
            self._trusted.add(os.stat(workspace).st_uid)

    def reason_against(self, status: os.stat_result) -> str:
        """Return the reason a file with *status* is not trusted, or ""."""
        owner = status.st_uid
        if owner not in self._trusted:
            return (
                f"it belongs to {_user_name(owner)}; `plugins.context-files.owners` may name them"
            )
        if status.st_nlink > 1 and owner != os.geteuid():
            return f"it is a hard link to a file of {_user_name(owner)}"
        return ""

    def reason_against_repository(self, marker: str) -> str:
        """Return the reason against files above the workspace, by the owner of *marker*, or ""."""
        try:
            owner = os.lstat(marker).st_uid
        except OSError as error:
            return f"the repository around it cannot be examined: {error.strerror}"
        if owner in self._trusted:
            return ""
        return f"the repository around it belongs to {_user_name(owner)}"


def _user_id(name: str) -> int | None:
    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _user_name(owner: int) -> str:
    try:
        return f"the user {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f"the user {owner}"
