"""Safe use of git: the programs that a repository would start, and git without them."""

from nanocoder_kit_process.git.arriving import problem_of_index, reason_not_harmless
from nanocoder_kit_process.git.elsewhere import data_elsewhere, stores_of
from nanocoder_kit_process.git.history import objects_of_head, objects_of_history
from nanocoder_kit_process.git.index import Entry, blobs_of, entries_of, tracked_files
from nanocoder_kit_process.git.plain import reason_not_plain
from nanocoder_kit_process.git.repositories import (
    Repository,
    find_repository,
    is_like_bare,
    read_start,
)
from nanocoder_kit_process.git.run import git
from nanocoder_kit_process.git.settings import setting_that_starts
from nanocoder_kit_process.git.worktrees import find_top

__all__ = [
    "Entry",
    "Repository",
    "blobs_of",
    "data_elsewhere",
    "entries_of",
    "find_repository",
    "find_top",
    "git",
    "is_like_bare",
    "objects_of_head",
    "objects_of_history",
    "problem_of_index",
    "read_start",
    "reason_not_harmless",
    "reason_not_plain",
    "setting_that_starts",
    "stores_of",
    "tracked_files",
]
