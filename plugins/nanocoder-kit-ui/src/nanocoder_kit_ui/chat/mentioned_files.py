"""Files that a prompt names with an @: the tool that reads files adds them to it."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import Attachment, Event, Session, Workspace, WorkspaceError

READER: Final = "read_file"
MENTION: Final = re.compile(r'(?<![\w@/])@(?:"([^"\n]+)"|([^\s"@]+))')
LINES: Final = re.compile(r"(.+?)(?::(\d+)(?:-(\d+))?|#L(\d+)(?:-L?(\d+))?)")
PUNCTUATION: Final = ".,;:!?)]}'"
MAX_MENTIONS: Final = 10


@frozen
class Typed:
    """A prompt that was entered; *pasted* are the parts that came from a clipboard.

    *command* is what was typed where *text* is a file's: the shell commands in it are run.
    """

    text: str
    pasted: Sequence[str] = ()
    command: str = ""


@frozen
class Mention:
    """A file, and the lines of it to send; 0 and 0 mean all of them."""

    path: str
    first: int = 0
    last: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for the tool that reads."""
        if not self.first:
            return {"path": self.path}
        return {"path": self.path, "offset": self.first, "limit": self.last - self.first + 1}

    def __str__(self) -> str:
        """Return the heading above the text of the file."""
        if not self.first:
            return self.path
        lines = f"lines {self.first}-{self.last}" if self.last > self.first else f"line {self.last}"
        return f"{self.path}, {lines}"


@frozen
class Prompt:
    """A prompt with the texts of its files below, and their pictures as attachments."""

    text: str
    attachments: tuple[Attachment, ...] = ()


def find_mentions(typed: Typed, workspace: Workspace) -> list[Mention]:
    """Return the files of the workspace that *typed* names, each once.

    A pasted text names none, since its author may be a stranger.
    """
    mentions = dict.fromkeys(_candidates(without_pastes(typed), workspace))
    return list(mentions)[:MAX_MENTIONS]


def find_missing(typed: Typed, workspace: Workspace) -> list[str]:
    """Return the names in *typed* that look like a file but match none of the workspace."""
    names = {}
    for quoted, bare in MENTION.findall(without_pastes(typed)):
        name = quoted or bare.rstrip(PUNCTUATION)
        looks_like_file = bool(quoted) or "/" in name or "." in name
        exists = _is_folder(name, workspace) or any(
            _mention(candidate, workspace) for candidate in (name, bare)
        )
        if looks_like_file and not exists:
            names[name] = True
    return list(names)[:MAX_MENTIONS]


def attach_files(
    typed: Typed, session: Session, show: Callable[[Event], Any], say: Callable[[str], Any]
) -> Prompt:
    """Return the text with the mentioned files beneath, and pictures attached.

    *show* gets the events of the calls that read them, *say* a message for each missing file.
    """
    text = typed.text
    if "@" not in text or READER not in session.tools:
        return Prompt(text)
    with Workspace(session.info.cwd) as workspace:
        mentions = find_mentions(typed, workspace)
        for name in find_missing(typed, workspace):
            say(f"@{name}: {_why_missing(name, workspace)}; only the name is sent")
        for name in find_folders(typed, workspace):
            say(f"@{name} is a folder: its name is sent, its files are not; name a file to send it")
        for pasted in find_pasted(typed, workspace):
            say(f"@{pasted.path} was pasted, so the file is not sent; type its name to send it")
    attachments: list[Attachment] = []
    for mention in mentions:
        for event in session.call(READER, mention.arguments):
            show(event)
        result = session.result
        if result is not None and not result.is_error:
            end = result.metadata.get("last")
            if isinstance(end, int) and end < mention.last:
                say(f"{mention}: the file ends at line {end}; lines {mention.first}-{end} are sent")
                mention = evolve(mention, last=end)  # noqa: PLW2901 - what is sent of it
            text += f"\n\nFile {mention}:\n{result.output}"
            attachments += result.attachments
        elif result is not None:
            reason = result.output.partition("\n")[0].rstrip(".")
            say(f"{mention}: {reason}; only the name is sent")
    return Prompt(text, tuple(attachments))


def find_folders(typed: Typed, workspace: Workspace) -> list[str]:
    """Return the folders of the workspace that *typed* names."""
    names = (
        quoted or bare.rstrip(PUNCTUATION)
        for quoted, bare in MENTION.findall(without_pastes(typed))
    )
    return list(dict.fromkeys(name for name in names if _is_folder(name, workspace)))


def find_pasted(typed: Typed, workspace: Workspace) -> list[Mention]:
    """Return the files that an @ names only in pasted text."""
    own = find_mentions(typed, workspace)
    every = find_mentions(Typed(typed.text), workspace) if typed.pasted else []
    return [path for path in every if path not in own]


def without_pastes(typed: Typed) -> str:
    """Return the typed text without its pasted parts."""
    text, changed = typed.text, []
    for part in typed.pasted:
        # The prompt was stripped, so a paste at its ends may have lost blanks.
        form = next((form for form in (part, part.strip()) if form and form in text), "")
        if form:
            text = text.replace(form, " ")
        else:
            changed.append(part)
    if not changed:
        return text
    # The paste was edited after it came in, so a name that begins as in the paste was not typed.
    return MENTION.sub(
        lambda match: " " if any(match[0][:2] in part for part in changed) else match[0], text
    )


def _candidates(text: str, workspace: Workspace) -> Iterator[Mention]:
    for match in MENTION.finditer(text):
        quoted, bare = match.groups()
        names = (quoted,) if quoted else (bare, bare.rstrip(PUNCTUATION))
        mentions = (_mention(name, workspace) for name in names)
        yield from [mention for mention in mentions if mention is not None][:1]


def _mention(name: str, workspace: Workspace) -> Mention | None:
    """Return the file that *name* is, or the lines of one: `a.py:10-12`, `a.py#L10`."""
    if _is_file(name, workspace):
        return Mention(name)
    match = LINES.fullmatch(name)
    if match is None or not _is_file(match[1], workspace):
        return None
    first = int(match[2] or match[4])
    last = int(match[3] or match[5] or first)
    return Mention(match[1], first, last) if 0 < first <= last else None


def _why_missing(name: str, workspace: Workspace) -> str:
    """Return the problem of a name that is no file: the file, or the lines of one."""
    match = LINES.fullmatch(name)
    if match is None or not _is_file(match[1], workspace):
        return "there is no such file here"
    first = int(match[2] or match[4])
    return f"line {first} comes after the last one named" if first else "lines count from 1"


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
