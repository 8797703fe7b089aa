"""The change that a sub-agent made in its worktree: a patch, and whether it can be applied."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen
from nanocoder_kit_process.git import git

_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')


@frozen
class Version:
    """A file, or a link and its target."""

    content: bytes
    is_executable: bool = False
    link: bool = False


@frozen
class Change:
    """Every file that changed.

    *patch* is git's, binary files included. *lines* describe each file; *obstacles* name the
    changes that are not changes of text: only those can be merged.
    """

    patch: bytes = b""
    paths: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The patch as text, or "" if there is none or it cannot be merged."""
        if self.obstacles:
            return ""
        try:
            return self.patch.decode()
        except UnicodeDecodeError:
            return ""

    @property
    def obstacle(self) -> str:
        """The reason why it cannot be merged; "" when it can."""
        if self.obstacles:
            return "; ".join(self.obstacles)
        return "" if self.text else "a file is not UTF-8"


Pair = tuple[str, Version | None, Version | None]


def make_change(pairs: Iterable[Pair], stage: Path, repository: Path) -> Change:
    """Return the change from the first to the second of each pair; *stage* is a folder to create.

    No program of *repository* is started.

    Raises: ToolError (git_failed).
    """
    changed = list(pairs)
    if not changed:
        return Change()
    # Only changed files are written, below "a" and "b", with which git's paths begin.
    for side, index in (("a", 1), ("b", 2)):
        (stage / side).mkdir(parents=True)
        for pair in changed:
            version = pair[index]
            if isinstance(version, Version):
                _write_version(stage / side / pair[0], version)
    patch = git(
        stage,
        *("diff", "--no-index", "--no-prefix", "--binary", "--no-renames", "--no-color"),
        *("a", "b"),
        workspace=repository,
        fine=(0, 1),
        variables={"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(stage.parent)},
    )
    return Change(
        patch,
        tuple(path for path, _, _ in changed),
        tuple(_line(pair) for pair in changed),
        tuple(obstacle for pair in changed if (obstacle := _find_obstacle(pair))),
    )


def _write_version(path: Path, version: Version) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if version.link:
        path.symlink_to(os.fsdecode(version.content))
        return
    path.write_bytes(version.content)
    path.chmod(0o700 if version.is_executable else 0o600)


def _line(pair: Pair) -> str:
    path, before, after = pair
    letter = "A" if before is None else "D" if after is None else "M"
    old = before.content.splitlines() if before is not None else []
    new = after.content.splitlines() if after is not None else []
    grown = len(new) - len(old)
    return f"{letter} {path} ({len(new)} {'line' if len(new) == 1 else 'lines'}, {grown:+})"


def _find_obstacle(pair: Pair) -> str:
    path, before, after = pair
    versions = [version for version in (before, after) if version is not None]
    if any(version.link for version in versions):
        return f"{path} is a link"
    if any(b"\0" in version.content for version in versions):
        return f"{path} is binary"
    modes = {version.is_executable for version in versions}
    if len(modes) > 1 or (before is None and True in modes):
        return f"{path} becomes executable or no longer is"
    # Git writes no lines for an empty file.
    if len(versions) == 1 and not versions[0].content:
        return f"{path} is {'new and empty' if before is None else 'empty and deleted'}"
    if _QUOTED.search(pair[0]):
        return f"{path} has a name that a patch quotes"
    return ""
