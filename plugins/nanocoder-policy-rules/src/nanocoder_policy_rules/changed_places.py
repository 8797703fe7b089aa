"""The places that a command changes."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nanocoder_policy_rules import candidates, expansion, paths, written_files
from nanocoder_policy_rules.reach import HERE, Reach

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.command_search import Text


def changed_places(
    text: "Text", reach: Reach, directories: Sequence[str]
) -> "tuple[list[ResolvedPath], set[str]]":
    """Return what a command changes in *directories*, and all names of it as rules compare them."""
    places = list(_changed(text, reach, (HERE, *directories)))
    return places, {paths.fold_path(name) for place in places for name in place.names}


def _changed(text: "Text", reach: Reach, folders: Sequence[str]) -> "Iterable[ResolvedPath]":
    for target in dict.fromkeys(each.word for each in written_files.targets(text)):
        names = [target, *expansion.expand([target], reach.folder, folders)]
        for name in dict.fromkeys(map(candidates.expand_home, names)):
            for folder in folders:
                yield reach.operand(os.path.join(folder, name) if folder != HERE else name)
