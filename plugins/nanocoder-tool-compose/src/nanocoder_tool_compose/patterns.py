"""Expansion of a refactoring's patterns to the matching files with the old text."""

import posixpath
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from attrs import evolve
from nanocoder import ToolError, Workspace, WorkspaceError
from nanocoder_kit_files.glob import SKIPPED, BadPattern, compile_glob, split_base
from nanocoder_kit_files.glob.git_ignore import list_files
from nanocoder_kit_files.text import read_text_file

from nanocoder_tool_compose.refactor import Refactor, pattern_of

MAX_FILES: Final = 500
MAGIC: Final = frozenset("*?[{")


def expand(workspace: Workspace, request: Refactor) -> Refactor:
    """Return *request* with patterns expanded to paths; git-ignored files match none.

    Raises: ToolError (text_not_found) for a pattern without such a file.
    """
    paths: dict[str, None] = {}
    for path in request.files:
        if MAGIC.isdisjoint(path) or workspace.exists(path):
            paths[path] = None
            continue
        matches = list(_matches(workspace, path, request.old))
        if not matches:
            raise ToolError(
                f"no file that matches {path!r} has {request.old!r}", error_class="text_not_found"
            )
        paths |= dict.fromkeys(matches)
    if len(paths) > MAX_FILES:
        raise ToolError(
            f"the patterns match {len(paths):,} files; at most {MAX_FILES} in one call",
            error_class="invalid_arguments",
        )
    return evolve(request, files=tuple(paths))


def _matches(workspace: Workspace, pattern: str, old: str) -> Iterator[str]:
    base, rest = split_base(pattern.removeprefix("./"))
    try:
        matches = compile_glob(rest).fullmatch
    except BadPattern as error:
        raise ToolError(str(error), error_class="invalid_arguments") from None
    if base and not workspace.is_dir(base):
        return
    search = pattern_of(old).search
    for files in list_files(workspace, base or ".", skip=SKIPPED):
        for name in files.names:
            path = files.path(name)
            if matches(posixpath.relpath(path, base) if base else path):
                # A binary or unreadable file does not match.
                with suppress(ToolError, WorkspaceError):
                    if search(read_text_file(workspace, path, note=False).text):
                        yield path
