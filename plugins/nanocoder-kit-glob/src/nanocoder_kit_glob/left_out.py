"""The files that a walk has left out, and what a result says of them."""

from collections.abc import Callable, Iterable
from typing import Any

MAX_PATHS_KEPT = 10_000


class LeftOut:
    """The files and folders that policies keep out of walks; hand one to several walks to add up.

    *files* and *folders* are paths relative to the workspace, the first 10,000 of each. A
    folder that is left out is not looked into, so its files are not counted. *unreadable* are
    folders that the system does not let be read, *cut* files with rules of which only the beginning
    counts.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.folders: list[str] = []
        self.unreadable: list[str] = []
        self.cut: list[str] = []

    def add(self, paths: list[str], folder: str, names: Iterable[str]) -> None:
        """Take note of *names* in *folder* ("." for the root) in *paths*, one of the lists."""
        prefix = "" if folder == "." else f"{folder}/"
        for name in names:
            if len(paths) < MAX_PATHS_KEPT:
                paths.append(prefix + name)


def left_out_note(left_out: LeftOut, is_wanted: Callable[[str], bool] | None = None) -> str:
    """Return lines about the files that *is_wanted* (None: all), folders and cut files."""
    counted = [(number, noun[:-1]) for noun, number in _counts(left_out, is_wanted).items()]
    texts = [f"{number:,} {noun}{'s' * (number != 1)}" for number, noun in counted if number]
    lines = [f"[{' and '.join(texts)} left out by rules]"] if texts else []
    lines += [f"[{path} is too long: only its first patterns count]" for path in left_out.cut]
    return "\n".join(lines)


def left_out_metadata(
    left_out: LeftOut, is_wanted: Callable[[str], bool] | None = None
) -> dict[str, Any]:
    """Return how many were left out as `left_out` of a result's metadata, or nothing."""
    counts = _counts(left_out, is_wanted)
    return {"left_out": counts} if any(counts.values()) else {}


def _counts(left_out: LeftOut, is_wanted: Callable[[str], bool] | None) -> dict[str, int]:
    files = left_out.files if is_wanted is None else filter(is_wanted, left_out.files)
    return {"files": len(set(files)), "folders": len(set(left_out.folders))}
