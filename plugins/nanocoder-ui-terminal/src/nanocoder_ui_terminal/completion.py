"""What Tab offers: commands, what they take, and the files of the workspace."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from nanocoder import Workspace, WorkspaceError
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from nanocoder_ui_terminal.choices import Value

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
        from nanocoder_kit_glob.git_ignore import walk  # only an @ needs it

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


class ChatCompleter(Completer):
    """Completes the first word after a slash, its argument, and words after an @."""

    def __init__(
        self,
        commands: Callable[[], Mapping[str, str]],
        values: Callable[[str], Iterable[Value]],
        files: Files,
        names: Callable[[], Mapping[str, str]],
    ) -> None:
        self._commands = commands
        self._values = values
        self._files = files
        self._names = names

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - the protocol's
    ) -> Iterable[Completion]:
        """Yield what fits the text before the cursor."""
        text = document.text_before_cursor
        if text.startswith("/") and "\n" not in text:
            yield from self._for_command(text[1:])
            return
        match = FRAGMENT.search(text)
        if match is None:
            return
        for name, meaning in self._names().items():
            if match[2] and name.casefold().startswith(match[2].casefold()):
                yield Completion(f"@{name}", -len(match[1] + match[2]) - 1, display_meta=meaning)
        for path in self._files.matching(match[2]):
            word = f'@"{path}"' if " " in path else f"@{path}"
            yield Completion(word, -len(match[1] + match[2]) - 1, display=path)

    def _for_command(self, text: str) -> Iterable[Completion]:
        name, space, argument = text.partition(" ")
        if not space:
            for command, meaning in self._commands().items():
                if command.startswith(name):
                    yield Completion(f"/{command}", -len(text) - 1, display_meta=meaning)
            return
        for value in _filter(self._values(name), argument.casefold()):
            yield Completion(
                value.text,
                -len(argument),
                display=value.label or value.text,
                display_meta=value.meaning,
            )


def _filter(values: Iterable[Value], text: str) -> list[Value]:
    """Return the values that begin with *text*; where none does, those that it is a part of."""
    choices = list(values)
    begin = [value for value in choices if value.text.casefold().startswith(text)]
    return begin or [value for value in choices if text in f"{value.text} {value.label}".casefold()]


def _name_begins(path: str, prefix: str) -> bool:
    return path.rpartition("/")[2].casefold().startswith(prefix)
