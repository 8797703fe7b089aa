"""Commands from files: `commands/NAME.md` in the person's own folders and in the project's."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder import Event, Session, ToolError, Workspace

SHELL_TOOL: Final = "bash"
FOLDER: Final = "commands"
PROJECT_FOLDER: Final = f".nanocoder/{FOLDER}"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MAX_FILES: Final = 100
MAX_BYTES: Final = 100_000
MEANING_CHARS: Final = 60
_PLACE: Final = re.compile(r"\$(ARGUMENTS|[1-9])")
_SHELL: Final = re.compile(r"!`([^`\n]{1,4000})`")
_HEAD: Final = re.compile(r"---\n(.{0,4000}?)\n---\n", re.DOTALL)
INIT: Final = """Write a first AGENTS.md for the project in this directory, for coding agents that
work here. Look at the files first: what the project is, how it is built, tested and checked, how
its folders are arranged, and which conventions its code follows. Write only what you saw, in at
most 40 lines. If there is an AGENTS.md, improve it.
$ARGUMENTS"""


@frozen
class FileCommand:
    """A command that sends *template* to the model, with what was typed in its places."""

    name: str
    template: str
    meaning: str = ""
    takes: str = ""

    def prompt(self, argument: str) -> str:
        """Return the template with *argument*, or after it where it has no place for it."""
        if argument and not _PLACE.search(self.template):
            return f"{self.template.rstrip()}\n\n{argument}"
        words = _words(argument)

        def fill(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return argument
            place = int(match[1]) - 1
            return words[place] if place < len(words) else ""

        return _PLACE.sub(fill, self.template).strip()


BUILT_IN: Final = FileCommand("init", INIT, "write a first AGENTS.md")


def find_file_commands(session: Session) -> Mapping[str, FileCommand]:
    """Return the commands by name; the person's own go before the project's."""
    commands = {BUILT_IN.name: BUILT_IN}
    for folder in session.info.own_folders:
        for name, text in _texts(folder, FOLDER):
            commands.setdefault(name, _command(name, text))
    for name, text in _texts(session.info.cwd, PROJECT_FOLDER, readable=session.info.readable):
        commands.setdefault(name, _command(name, text))
    return dict(sorted(commands.items()))


def run_shell_parts(text: str, session: Session, show: Callable[[Event], Any]) -> str:
    """Put the output of each !`command` in its place; each is a call that the policies judge."""

    def output(match: re.Match[str]) -> str:
        if SHELL_TOOL not in session.tools:
            return f"[not run, because the tool {SHELL_TOOL} is not installed: {match[1]}]"
        for event in session.call(SHELL_TOOL, {"command": match[1]}):
            show(event)
        return session.result.output if session.result is not None else ""

    return _SHELL.sub(output, text)


def _texts(root: Path, folder: str, **options: Any) -> Iterator[tuple[str, str]]:
    if not (root / folder).is_dir():
        return
    with Workspace(root, **options) as place:
        try:
            entries = [entry for entry in place.scan(folder) if entry.kind == "file"][:MAX_FILES]
        except ToolError:
            return
        for entry in entries:
            name = entry.name.removesuffix(".md")
            if name == entry.name or not NAME.fullmatch(name):
                continue
            with suppress(ToolError):
                path = f"{folder}/{entry.name}"
                yield name, place.read_file(path, max_bytes=MAX_BYTES, note=False).text


def _command(name: str, text: str) -> FileCommand:
    head = _HEAD.match(text)
    body = text[head.end() :] if head is not None else text
    lines = head[1].splitlines() if head is not None else []
    fields = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    first = next((line.strip("# ") for line in body.splitlines() if line.strip()), "")
    meaning = fields.get("description", first)[:MEANING_CHARS]
    return FileCommand(name, body, meaning, fields.get("argument-hint", ""))


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()
