"""Completion of a line: commands, what they take, and the files of the workspace."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import frozen
from nanocoder import Workspace, WorkspaceError

from nanocoder_kit_ui.chat.choices import Value
from nanocoder_kit_ui.chat.plugin_parts import plugin_commands, plugin_mentions
from nanocoder_kit_ui.chat.slash_commands import COMMANDS, values_for

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation

FRAGMENT: Final = re.compile(r'(?:^|\s)@("?)([^\s"]*)$')
SKIPPED: Final = frozenset({"__pycache__", "node_modules", ".venv", "venv", ".tox", ".nox"})
"""Folders of generated files, left out even where no `.gitignore` names them."""
MAX_FILES: Final = 20_000
MAX_WALK_S: Final = 1.0
FRESH_S: Final = 15.0
MAX_OFFERED: Final = 50


class Files:
    """The files of a workspace, listed again when the list is old."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: Sequence[str] = ()
        self._at = float("-inf")

    def matching(self, fragment: str) -> Iterator[str]:
        """Yield files whose path holds *fragment*, those whose name begins with it first."""
        folded = fragment.casefold()
        paths = [path for path in self._list() if folded in path.casefold()]
        paths.sort(key=lambda path: (not _name_begins(path, folded), path.count("/"), path))
        yield from paths[:MAX_OFFERED]

    def _list(self) -> Sequence[str]:
        if time.monotonic() - self._at > FRESH_S:
            self._known = list(self._walk())
            self._at = time.monotonic()
        return self._known

    def _walk(self) -> Iterator[str]:
        from nanocoder_kit_files.glob.git_ignore import walk  # only an @ needs it

        deadline = time.monotonic() + MAX_WALK_S
        try:
            with Workspace(self._root) as workspace:
                for number, entry in enumerate(walk(workspace, skip=SKIPPED, details=False)):
                    if number >= MAX_FILES or time.monotonic() > deadline:
                        return
                    # A name with unprintable characters cannot be typed, so it is not offered.
                    if entry.kind == "file" and entry.path.isprintable():
                        yield entry.path
        except WorkspaceError:
            return


@frozen
class Suggestion:
    """A *text* that can take the place of the last *length* characters before the cursor.

    *label* is shown for it where that is shorter, *meaning* beside it.
    """

    text: str
    length: int
    label: str = ""
    meaning: str = ""


class Completions:
    """Completes the first word after a slash, its argument, and words after an @."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._files = Files(conversation.session.info.cwd)

    def suggest(self, before: str) -> Iterator[Suggestion]:
        """Yield suggestions for the text *before* the cursor, best first."""
        if before.startswith("/") and "\n" not in before:
            yield from self._for_command(before[1:])
            return
        match = FRAGMENT.search(before)
        if match is None:
            return
        length = len(match[1] + match[2]) + 1
        for name, meaning in self._names.items():
            if match[2] and name.casefold().startswith(match[2].casefold()):
                yield Suggestion(f"@{name}", length, meaning=meaning)
        for path in self._files.matching(match[2]):
            word = f'@"{path}"' if " " in path else f"@{path}"
            yield Suggestion(word, length, label=path)

    def _for_command(self, text: str) -> Iterator[Suggestion]:
        name, space, argument = text.partition(" ")
        if not space:
            for command, meaning in self._commands.items():
                if command.startswith(name):
                    yield Suggestion(f"/{command}", len(text) + 1, meaning=meaning)
            return
        for value in _filter(values_for(self._conversation, name), argument.casefold()):
            yield Suggestion(value.text, len(argument), value.label, value.meaning)

    @cached_property
    def _commands(self) -> dict[str, str]:
        """The meaning of each command; plugins are asked, so only when a command is typed."""
        conversation = self._conversation
        commands = {name: command.meaning for name, command in COMMANDS.items()}
        files = conversation.file_commands.items()
        commands |= {name: each.meaning for name, each in files}
        added = plugin_commands(conversation.session).items()
        for name, (_, meaning) in added:
            commands.setdefault(name, meaning)
        return commands

    @cached_property
    def _names(self) -> dict[str, str]:
        return plugin_mentions(self._conversation.session)


def _filter(values: Iterable[Value], text: str) -> list[Value]:
    """Return the values that begin with *text*; where none does, those that it is a part of."""
    choices = list(values)
    begin = [value for value in choices if value.text.casefold().startswith(text)]
    return begin or [value for value in choices if text in f"{value.text} {value.label}".casefold()]


def _name_begins(path: str, prefix: str) -> bool:
    return path.rpartition("/")[2].casefold().startswith(prefix)
