"""Files that a prompt names with an @: their text travels with it, read by the tool that reads."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen
from nanocoder import Event, Session, Workspace, WorkspaceError

READER: Final = "read_file"
MENTION: Final = re.compile(r'(?<![\w@/])@(?:"([^"\n]+)"|([^\s"@]+))')
PUNCTUATION: Final = ".,;:!?)]}'"
MAX_MENTIONS: Final = 10


@frozen
class Typed:
    """What was entered; *pasted* are the parts that came from a clipboard."""

    text: str
    pasted: Sequence[str] = ()


def mentioned(typed: Typed, workspace: Workspace) -> list[str]:
    """Return the files of the workspace that *typed* names, each once.

    What was pasted names none: its author need not be the person who sends it.
    """
    found = dict.fromkeys(path for path in _candidates(_own(typed), workspace) if path)
    return list(found)[:MAX_MENTIONS]


def missing(typed: Typed, workspace: Workspace) -> list[str]:
    """Return what *typed* names like a file and what is none of the workspace."""
    found = {}
    for quoted, bare in MENTION.findall(_own(typed)):
        name = quoted or bare.rstrip(PUNCTUATION)
        looks_so = bool(quoted) or "/" in name or "." in name
        if looks_so and not any(_is_file(path, workspace) for path in (name, bare)):
            found[name] = True
    return list(found)[:MAX_MENTIONS]


def with_files(
    typed: Typed, session: Session, show: Callable[[Event], Any], say: Callable[[str], Any]
) -> str:
    """Return the text with the mentioned files beneath.

    *show* sees the calls that read them, *say* hears of names that no file has.
    """
    text = typed.text
    if "@" not in text or READER not in session.tools:
        return text
    with Workspace(session.info.cwd) as workspace:
        paths = mentioned(typed, workspace)
        for name in missing(typed, workspace):
            say(f"@{name}: there is no such file here; only the name is sent")
    for path in paths:
        last = None
        for last in session.call(READER, {"path": path}):
            show(last)
        if last is not None and last.data.get("status") == "ok":
            text += f"\n\nFile {path}:\n{last.data['output']}"
    return text


def _own(typed: Typed) -> str:
    """Return what was typed without what was pasted."""
    text = typed.text
    for part in typed.pasted:
        text = text.replace(part, " ")
    return text


def _candidates(text: str, workspace: Workspace) -> Iterator[str]:
    for match in MENTION.finditer(text):
        quoted, bare = match.groups()
        for path in (quoted,) if quoted else (bare, bare.rstrip(PUNCTUATION)):
            if _is_file(path, workspace):
                yield path
                break


def _is_file(path: str, workspace: Workspace) -> bool:
    try:
        return bool(path) and workspace.is_file(path)
    except WorkspaceError:
        return False
