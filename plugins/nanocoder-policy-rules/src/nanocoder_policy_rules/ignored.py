"""Paths that the ignore files of a session hide from its tools."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import PathFilter, SessionInfo, unescape_path
from nanocoder_files import open_private
from nanocoder_kit_files.glob.ignore_file import Rules, read_rules

from nanocoder_policy_rules.settings import Settings

NAME: Final = ".nanocoderignore"
MAX_BYTES: Final = 1_000_000
MAX_FOLDERS: Final = 40
REASON: Final = (
    "{} leaves this out, unless `plugins.policy-rules.not_ignored` of the user allows it"
)
SETTING: Final = "plugins.policy-rules.ignore"


@frozen
class IgnoreFile:
    """One file's rules; *title* names it, *below* is the workspace's path below its folder."""

    title: str
    below: bytes
    rules: Rules


Chain = tuple[IgnoreFile, ...]
"""The rules that hold in one workspace, outermost first: the last that fits decides."""


class Ignored(PathFilter):
    """Refuses what one of the *chains* leaves out, except what *allowed* fits.

    *root* is the workspace.
    """

    def __init__(self, root: Path, chains: Sequence[Chain], allowed: Rules) -> None:
        self._root = root
        self._chains = chains
        self._allowed = allowed

    def refuses(self, path: str) -> str:
        """Name the file that leaves *path* out."""
        raw = os.fsencode(unescape_path(path))
        name = raw.rpartition(b"/")[2]
        of_file, of_folder = (self._title(raw, name, is_dir=is_dir) for is_dir in (False, True))
        title = of_folder if of_file != of_folder and self._is_folder(raw) else of_file
        return REASON.format(title) if title else ""

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:
        """Return the names that some rule fits, whether they are files or folders."""
        prefix = os.fsencode(unescape_path(f"{folder}/" if folder else ""))
        raw_names = (os.fsencode(unescape_path(name)) for name in names)
        return [
            name
            for name, raw in zip(names, raw_names, strict=True)
            if any(self._title(prefix + raw, raw, is_dir=is_dir) for is_dir in (False, True))
        ]

    def _title(self, path: bytes, name: bytes, *, is_dir: bool) -> str:
        """Return the title of the file that leaves *path* out, or ""."""
        titles = (_title_in(chain, path, name, is_dir=is_dir) for chain in self._chains)
        title = next(filter(None, titles), "")
        if title and self._allowed and self._allowed.verdict(path, name, is_dir=is_dir):
            return ""
        return title

    def _is_folder(self, path: bytes) -> bool:
        full = os.path.join(os.fsencode(self._root), path)
        return os.path.isdir(full) and not os.path.islink(full)


def read_ignored(session: SessionInfo, settings: Settings) -> Ignored | None:
    """Read the ignore files; None if none of them has a rule.

    Raises: ValueError for a file that cannot be read as a whole: then nothing may be read.
    """
    own = _rules("\n".join(settings.ignore).encode(), SETTING)
    first = (IgnoreFile(SETTING, b"", own),) if own else ()
    # The rules for the original places also hold for the copy that a sub-agent works in.
    chains = [
        chain
        for place in (*session.origins[::-1], session.cwd)
        if (chain := (*first, *_files(place)))
    ]
    allowed = _rules("\n".join(settings.not_ignored).encode(), "plugins.policy-rules.not_ignored")
    return Ignored(session.cwd, chains, allowed) if chains else None


def _title_in(chain: Chain, path: bytes, name: bytes, *, is_dir: bool) -> str:
    for file in reversed(chain):
        verdict = file.rules.verdict(file.below + path, name, is_dir=is_dir)
        if verdict is not None:
            return file.title if verdict else ""
    return ""


def _files(workspace: Path) -> Iterator[IgnoreFile]:
    """Yield the files with rules from the root of the repository down to *workspace*."""
    for folder in reversed([*_folders(workspace)]):
        path = folder / NAME
        title = NAME if folder == workspace else str(path)
        if os.path.lexists(path) and (rules := _rules(_content(path), title)):
            below = "".join(f"{name}/" for name in workspace.relative_to(folder).parts)
            yield IgnoreFile(title, os.fsencode(below), rules)


def _folders(workspace: Path) -> Iterator[Path]:
    above = (workspace, *workspace.parents)[:MAX_FOLDERS]
    top = next((folder for folder in above if os.path.lexists(folder / ".git")), workspace)
    return (folder for folder in above if folder.is_relative_to(top))


def _content(path: Path) -> bytes:
    try:
        with os.fdopen(open_private(path), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        if path.is_symlink():  # others could change where it leads
            problem = "is a link, which is not followed; put the file itself in its place"
        raise ValueError(f"{path} {problem}, so it is not known what it leaves out") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path} has more than {MAX_BYTES:,} bytes")
    return data


def _rules(data: bytes, title: str) -> Rules:
    rules = read_rules(data, braces=True)
    for number, problem in rules.malformed:
        raise ValueError(f"{title}:{number}: the pattern can match nothing: {problem}")
    if rules.is_cut:
        raise ValueError(f"{title} has more patterns than can be matched quickly; use fewer")
    return rules
