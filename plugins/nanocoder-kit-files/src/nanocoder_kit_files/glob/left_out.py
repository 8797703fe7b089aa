"""The files that a walk has left out, and their summary in a result."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

MAX_PATHS_KEPT = 10_000
MAX_NAMED = 3


class LeftOut:
    """The files and folders that walks leave out; pass one to several walks to add up.

    All are paths relative to the workspace, the first 10,000 of each. A folder that is left out is
    not read, so its files are not counted. *files* and *folders* are excluded by policies,
    *ignored_files* and *ignored_folders* by git, *skipped* folders by their names; *binary* files
    have no text. *unreadable* folders failed to open, *cut* files have rules that were read only
    in part.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.folders: list[str] = []
        self.ignored_files: list[str] = []
        self.ignored_folders: list[str] = []
        self.skipped: list[str] = []
        self.binary: list[str] = []
        self.unreadable: list[str] = []
        self.cut: list[str] = []

    def add(self, paths: list[str], folder: str, names: Iterable[str]) -> None:
        """Add *names* in *folder* ("." for the root) to *paths*, one of the lists."""
        prefix = "" if folder == "." else f"{folder}/"
        for name in names:
            if len(paths) < MAX_PATHS_KEPT:
                paths.append(prefix + name)

    def keep(self, is_wanted: Callable[[str], bool]) -> None:
        """Drop the files that are not wanted, but no folders: they may contain wanted files."""
        self.files = [*filter(is_wanted, self.files)]
        self.ignored_files = [*filter(is_wanted, self.ignored_files)]


def left_out_note(
    left_out: LeftOut,
    is_wanted: Callable[[str], bool] | None = None,
    *,
    found_nothing: bool = False,
) -> str:
    """Return lines about the files that *is_wanted* (None: all), folders and cut files.

    Files excluded by policies are counted, never named. After a search that *found_nothing* the
    lines also include ignored and binary files.
    """
    hidden = _amount(_matching(left_out.files, is_wanted), left_out.folders)
    lines = [f"[{hidden} left out by rules]"] if hidden else []
    lines += [f"[{path} is too long: only its first patterns count]" for path in left_out.cut]
    skipped = _named([], left_out.skipped)
    texts = [f"{skipped} by name"] if skipped else []
    if found_nothing:
        ignored = _named(_matching(left_out.ignored_files, is_wanted), left_out.ignored_folders)
        texts += [f"{ignored}, which git ignores"] if ignored else []
        binary = _named(_matching(left_out.binary, is_wanted), [])
        texts += [f"{binary} without text"] if binary else []
    if texts:
        has_folder = left_out.skipped or (found_nothing and left_out.ignored_folders)
        advice = ". Name a folder in path to look into it" if has_folder else ""
        lines.append(f"[left out: {'; '.join(texts)}{advice}]")
    return "\n".join(lines)


def left_out_metadata(
    left_out: LeftOut, is_wanted: Callable[[str], bool] | None = None
) -> dict[str, Any]:
    """Return the numbers of excluded files and folders as a result's metadata, or {}."""
    files, folders = _matching(left_out.files, is_wanted), left_out.folders
    counts = {"files": len(set(files)), "folders": len(set(folders))}
    return {"left_out": counts} if any(counts.values()) else {}


def _matching(paths: list[str], is_wanted: Callable[[str], bool] | None) -> list[str]:
    return paths if is_wanted is None else [*filter(is_wanted, paths)]


def _amount(files: Sequence[str], folders: Sequence[str]) -> str:
    """Return "1 file and 2 folders", each path counted once; "" for none."""
    counts = ((len(set(files)), "file"), (len(set(folders)), "folder"))
    return " and ".join(f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in counts if count)


def _named(files: Sequence[str], folders: Sequence[str]) -> str:
    """Return the same with the first of their names."""
    amount = _amount(files, folders)
    names = [*dict.fromkeys([*files, *(f"{folder}/" for folder in folders)])]
    more = ", …" if len(names) > MAX_NAMED else ""
    return f"{amount} ({', '.join(names[:MAX_NAMED])}{more})" if amount else ""
