"""Interpretation of edits that only small models send; measured with real tasks.

Asked to rename something, a small model sends one word as old_string and expects every occurrence
to change; asked to add something, it sends the same text twice, or a function and, as old_string,
the function's first line. A large model gets an error for each.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from nanocoder import SessionInfo, Workspace, WorkspaceError
from nanocoder_kit_files.text import read_text_file

from nanocoder_tool_edit.document import Span
from nanocoder_tool_edit.request import Request
from nanocoder_tool_edit.stale_names import holds_name

DEFINITION = re.compile(r"(?:async def|def|class|function|func|fn)[ \t]+([^\W\d]\w*)\b")
MAX_FILES = 200
MAX_BYTES = 256_000
SHOWN_FILES = 8


def is_for_small_model(session: SessionInfo | None) -> bool:
    """Return True if a small model makes the edit, not a large one or a person."""
    return session is not None and bool(session.model) and session.profile == "small"


def others_with_old_name(workspace: Workspace, request: Request, path: str) -> str:
    """Return a hint about other files with a name that the model renamed in *path* only, or ""."""
    names = [(edit.old_string, edit.new_string) for edit in request.edits]
    renamed = [old for old, new in names if is_word(old) and is_word(new)]
    for name in renamed:
        if files := files_with(workspace, name, beside=path):
            return f"[{name!r} is still in {', '.join(files)}: replace it there, too]"
    return ""


def is_word(text: str) -> bool:
    """Return True if *text* is one name, and nothing beside it."""
    return text.isidentifier()


def is_new_definition(text: str, old: str, new: str) -> bool:
    """Return True if *new* is a definition that *text* does not have, and *old* its beginning."""
    head = DEFINITION.match(new)
    return head is not None and new.startswith(old) and not holds_name(text, head[1])


def whole_words(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the *spans* whose neighbours in *text* are not part of the name."""
    return [span for span in spans if not _continues(text, span)]


def _continues(text: str, span: Span) -> bool:
    before, after = text[max(0, span.start - 1) : span.start], text[span.end : span.end + 1]
    return any(letter.isalnum() or letter == "_" for letter in (before, after))


def files_with(workspace: Workspace, name: str, *, beside: str) -> list[str]:
    """Return other files that have *name* as a whole word; large files are not read."""
    paths = (path for path in _small_files(workspace) if path != beside)
    return list(islice((path for path in paths if _has(workspace, path, name)), SHOWN_FILES))


def _small_files(workspace: Workspace) -> Iterator[str]:
    from nanocoder_kit_files.glob.git_ignore import walk  # only a small model's renaming needs it

    entries = islice(walk(workspace), MAX_FILES)
    return (entry.path for entry in entries if entry.kind == "file" and entry.size <= MAX_BYTES)


def _has(workspace: Workspace, path: str, name: str) -> bool:
    try:
        return holds_name(read_text_file(workspace, path, note=False).text, name)
    except WorkspaceError:
        return False
