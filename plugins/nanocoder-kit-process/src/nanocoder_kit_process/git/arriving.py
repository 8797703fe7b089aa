"""Safety checks of an index or a repository from a sandbox, for any git command."""

import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

from nanocoder_files import is_git_name, protection_of

from nanocoder_kit_process.git.index import Entry, entries_of, is_repository
from nanocoder_kit_process.git.plain import reason_not_plain
from nanocoder_kit_process.git.repositories import GIT, read_start
from nanocoder_kit_process.git.settings import read_settings
from nanocoder_kit_process.trees import walk

SAMPLE: Final = ".sample"
_NAMES: Final = frozenset(
    (
        *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
        *("AUTO_MERGE", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "COMMIT_EDITMSG", "description"),
        *("config", "index", "packed-refs", "shallow", "gc.log", "hooks", "info", "logs"),
        *("objects", "refs", "branches"),
    )
)
"""Names in a `.git` that start nothing; others are a rebase under way, submodules, worktrees."""
_EMPTY: Final = "branches"
"""A folder whose files name remote repositories as settings do."""
_PROTECTING: Final = frozenset(("core.protecthfs", "core.protectntfs"))
_NOT_IN_NAMES: Final = frozenset("\\\0")
_NOT_PARTS: Final = frozenset(("", ".", ".."))


def reason_not_harmless(folder: str | os.PathLike[str]) -> str | None:
    """Return the reason any git command in *folder* may start a program, or None if none can.

    For an untrusted repository at `.git` in *folder*. It has to be plain, and without hooks,
    links, operations in progress, and index entries with paths outside of the checkout.
    """
    git = os.path.join(folder, GIT)
    if os.path.islink(git) or not os.path.isdir(git):
        return f"{git} leads to another folder"
    try:
        return reason_not_plain(folder) or next(_reasons(git), None)
    except (OSError, ValueError) as error:  # it changed during the check
        return f"{git} cannot be read: {error}"


def problem_of_index(content: bytes, own: bytes, is_there: Callable[[Entry], bool]) -> str:
    """Return the reason the index *content* is unsafe for git, or "".

    *own* is the user's earlier index, whose entries may stay. *is_there* tells whether an entry
    with a protected name is a file of the user with the same content. b"" is an empty index.
    """
    try:
        entries = entries_of(content)
        earlier = entries_of(own)
    except ValueError:
        return "is not in git's format, or is split"
    own_entries = set(earlier)
    earlier_names = {(is_repository(entry), entry.path) for entry in earlier}
    for entry in entries:
        if entry in own_entries:
            continue
        problem = _problem_of_path(entry)
        if not problem and is_repository(entry):
            is_known = (True, entry.path) in earlier_names
            problem = "" if is_known else "names another repository, which git would look into"
        elif not problem and protection_of(entry.path) is not None and not is_there(entry):
            problem = "names a protected file that is not there, or not with this content"
        if problem:
            return f"{problem}: {entry.path!r}"
    return ""


def _problem_of_path(entry: Entry) -> str:
    path = entry.path
    if stat.S_ISDIR(entry.mode):
        return "hides which files are in a folder"
    parts = path.split("/")
    if not _NOT_PARTS.isdisjoint(parts) or not _NOT_IN_NAMES.isdisjoint(path):
        return "names a file outside of the checkout"
    if any(map(is_git_name, parts)):
        return "names a file of git's own"
    return ""


def _reasons(git: str) -> Iterator[str]:
    for folder, folders, files in walk(git, _refuse):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if stat.S_IFMT(os.lstat(path).st_mode) not in (stat.S_IFDIR, stat.S_IFREG):
                yield f"{path} is no file"
    for name in os.listdir(git):
        if name not in _NAMES:
            yield f"{git}/{name} is not in every repository, and git may act by it"
    if os.path.isdir(f"{git}/{_EMPTY}") and os.listdir(f"{git}/{_EMPTY}"):
        yield f"{git}/{_EMPTY} names remote repositories"
    if os.path.isdir(f"{git}/hooks"):
        hooks = (name for name in os.listdir(f"{git}/hooks") if not name.endswith(SAMPLE))
        yield from (f"{git}/hooks/{name} is a hook" for name in hooks)
    if any(setting.name in _PROTECTING for setting in read_settings(read_start(f"{git}/config"))):
        yield f"the settings in {git}/config let git write to its own files"
    if problem := problem_of_index(_content(f"{git}/index"), b"", lambda _: False):
        yield f"{git}/index {problem}"


def _refuse(error: OSError) -> None:
    raise error


def _content(path: str) -> bytes:
    if not os.path.lexists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()
