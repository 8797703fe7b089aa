"""Files that a prompt names with an @: they travel with it, read by the tool that reads."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen
from nanocoder import Attachment, Event, Session, Workspace, WorkspaceError

READER: Final = "read_file"
MENTION: Final = re.compile(r'(?<![\w@/])@(?:"([^"\n]+)"|([^\s"@]+))')
LINES: Final = re.compile(r"(.+?)(?::(\d+)(?:-(\d+))?|#L(\d+)(?:-L?(\d+))?)")
PUNCTUATION: Final = ".,;:!?)]}'"
MAX_MENTIONS: Final = 10


@frozen
class Typed:
    """What was entered; *pasted* are the parts that came from a clipboard."""

    text: str
    pasted: Sequence[str] = ()


@frozen
class Mention:
    """A file, and the lines of it that are meant; 0 and 0 are all."""

    path: str
    first: int = 0
    last: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """What the tool that reads is asked for."""
        if not self.first:
            return {"path": self.path}
        return {"path": self.path, "offset": self.first, "limit": self.last - self.first + 1}

    def __str__(self) -> str:
        """Return what stands above the text of the file."""
        if not self.first:
            return self.path
        lines = f"lines {self.first}-{self.last}" if self.last > self.first else f"line {self.last}"
        return f"{self.path}, {lines}"


@frozen
class Prompt:
    """A prompt with the texts of its files beneath, and what of them is no text."""

    text: str
    attachments: tuple[Attachment, ...] = ()


def mentioned(typed: Typed, workspace: Workspace) -> list[Mention]:
    """Return the files of the workspace that *typed* names, each once.

    What was pasted names none: its author need not be the person who sends it.
    """
    found = dict.fromkeys(_candidates(_own(typed), workspace))
    return list(found)[:MAX_MENTIONS]


def missing(typed: Typed, workspace: Workspace) -> list[str]:
    """Return what *typed* names like a file and what is none of the workspace."""
    found = {}
    for quoted, bare in MENTION.findall(_own(typed)):
        name = quoted or bare.rstrip(PUNCTUATION)
        looks_so = bool(quoted) or "/" in name or "." in name
        exists = _is_folder(name, workspace) or any(
            _mention(one, workspace) for one in (name, bare)
        )
        if looks_so and not exists:
            found[name] = True
    return list(found)[:MAX_MENTIONS]


def with_files(
    typed: Typed, session: Session, show: Callable[[Event], Any], say: Callable[[str], Any]
) -> Prompt:
    """Return the text with the mentioned files beneath, and pictures attached.

    *show* sees the calls that read them, *say* hears of names that no file has.
    """
    text = typed.text
    if "@" not in text or READER not in session.tools:
        return Prompt(text)
    with Workspace(session.info.cwd) as workspace:
        mentions = mentioned(typed, workspace)
        for name in missing(typed, workspace):
            say(f"@{name}: there is no such file here; only the name is sent")
        for name in folders(typed, workspace):
            say(f"@{name} is a folder: its name is sent, its files are not; name a file to send it")
        for pasted in pasted_files(typed, workspace):
            say(f"@{pasted.path} was pasted, so the file is not sent; type its name to send it")
    attachments: list[Attachment] = []
    for mention in mentions:
        for event in session.call(READER, mention.arguments):
            show(event)
        result = session.result
        if result is not None and not result.is_error:
            text += f"\n\nFile {mention}:\n{result.output}"
            attachments += result.attachments
    return Prompt(text, tuple(attachments))


def folders(typed: Typed, workspace: Workspace) -> list[str]:
    """Return the folders of the workspace that *typed* names."""
    names = (quoted or bare.rstrip(PUNCTUATION) for quoted, bare in MENTION.findall(_own(typed)))
    return list(dict.fromkeys(name for name in names if _is_folder(name, workspace)))


def pasted_files(typed: Typed, workspace: Workspace) -> list[Mention]:
    """Return the files that an @ names only with what was pasted."""
    own = mentioned(typed, workspace)
    every = mentioned(Typed(typed.text), workspace) if typed.pasted else []
    return [path for path in every if path not in own]


def _own(typed: Typed) -> str:
    """Return what was typed without what was pasted."""
    text, changed = typed.text, []
    for part in typed.pasted:
        # The ends of what is entered lose their blanks.
        form = next((form for form in (part, part.strip()) if form and form in text), "")
        if form:
            text = text.replace(form, " ")
        else:
            changed.append(part)
    if not changed:
        return text
    # A paste that was edited: what begins as in the paste was not typed.
    return MENTION.sub(
        lambda found: " " if any(found[0][:2] in part for part in changed) else found[0], text
    )


def _candidates(text: str, workspace: Workspace) -> Iterator[Mention]:
    for match in MENTION.finditer(text):
        quoted, bare = match.groups()
        names = (quoted,) if quoted else (bare, bare.rstrip(PUNCTUATION))
        found = (_mention(name, workspace) for name in names)
        yield from [mention for mention in found if mention is not None][:1]


def _mention(name: str, workspace: Workspace) -> Mention | None:
    """Return the file that *name* is, or the lines of one: `a.py:10-12`, `a.py#L10`."""
    if _is_file(name, workspace):
        return Mention(name)
    found = LINES.fullmatch(name)
    if found is None or not _is_file(found[1], workspace):
        return None
    first = int(found[2] or found[4])
    last = int(found[3] or found[5] or first)
    return Mention(found[1], first, last) if 0 < first <= last else None


def _is_folder(path: str, workspace: Workspace) -> bool:
    try:
        return bool(path) and workspace.is_dir(path)
    except WorkspaceError:
        return False


def _is_file(path: str, workspace: Workspace) -> bool:
    try:
        return bool(path) and workspace.is_file(path)
    except WorkspaceError:
        return False
