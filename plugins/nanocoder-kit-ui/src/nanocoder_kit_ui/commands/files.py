"""Commands from files: `commands/NAME.md` in the user's own folders and in the project's."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import Event, Session, ToolError, Workspace, for_terminal, one_line
from nanocoder_kit_files.text import read_text_file

SHELL_TOOL: Final = "bash"
FOLDER: Final = "commands"
PROJECT_FOLDER: Final = f".nanocoder/{FOLDER}"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MAX_FILES: Final = 100
MAX_BYTES: Final = 100_000
MEANING_CHARS: Final = 60
_PLACEHOLDER: Final = re.compile(r"\$(ARGUMENTS|[1-9])")
_SHELL: Final = re.compile(r"!`([^`\n]{1,4000})`")
_HEAD_LINE: Final = re.compile(r"\s|\Z|[#-]|[^\s:]+\s*:")
"""A line of a head: a key with its value, a comment, or a continuation of the key above."""
SHOWN_COLUMNS: Final = 40
DIVIDER: Final = "---"
INIT: Final = """Write a first AGENTS.md for the project in this directory, for coding agents that
work here. Look at the files first: what the project is, how it is built, tested and checked, how
its folders are arranged, and which conventions its code follows. Write only what you saw, in at
most 40 lines. If there is an AGENTS.md, improve it.
$ARGUMENTS"""


@frozen
class FileCommand:
    """A command that sends *template* to the model, with the typed arguments inserted.

    *problem* is the reason a file defines no command, or "".
    """

    name: str
    template: str
    meaning: str = ""
    takes: str = ""
    path: Path | None = None
    problem: str = ""

    def prompt(self, argument: str) -> str:
        """Return the template with *argument* inserted, or appended without a placeholder."""
        if argument and not _PLACEHOLDER.search(self.template):
            return f"{self.template.rstrip()}\n\n{argument}"
        words = _words(argument)

        def fill(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return argument
            index = int(match[1]) - 1
            return words[index] if index < len(words) else ""

        return _PLACEHOLDER.sub(fill, self.template).strip()


BUILT_IN: Final = FileCommand("init", INIT, "write a first AGENTS.md")


def find_file_commands(session: Session, built_in: Collection[str]) -> list[FileCommand]:
    """Return the commands, and the files that make none because of a problem.

    The first file of a name wins; the user's own precede the project's. A file never replaces a
    command that is *built_in*.
    """
    files = [each for folder in session.info.own_folders for each in _read(folder, FOLDER)]
    files += _read(session.info.cwd, PROJECT_FOLDER, readable=session.info.readable)
    commands = {BUILT_IN.name: BUILT_IN}
    for file in files:
        if file.name in {BUILT_IN.name, *built_in}:
            problem = f"{file.path}: /{file.name} is built in, so this file is not used; rename it"
            commands[str(file.path)] = evolve(file, problem=problem)
        else:
            commands.setdefault(file.name, file)
    return sorted(commands.values(), key=lambda command: command.name)


def run_shell_parts(text: str, run: Callable[[str], str]) -> str:
    """Replace each !`command` by its output; *run* returns that, or the reason for none."""
    return _SHELL.sub(lambda match: run(match[1]), text)


def run_command(session: Session, show: Callable[[Event], Any], command: str) -> str:
    """Return the output of *command*, which is a call that the policies judge."""
    if SHELL_TOOL not in session.tools:
        return f"[not run, because the tool {SHELL_TOOL} is not installed: {command}]"
    for event in session.call(SHELL_TOOL, {"command": command}):
        show(event)
    return session.result.output if session.result is not None else ""


def _read(root: Path, folder: str, **options: Any) -> Iterator[FileCommand]:
    if not (root / folder).is_dir():
        return
    with Workspace(root, **options) as workspace:
        try:
            entries = [each for each in workspace.scan(folder) if each.kind == "file"][:MAX_FILES]
        except ToolError:
            return
        for entry in entries:
            name, path = entry.name.removesuffix(".md"), root / folder / entry.name
            if name == entry.name:
                continue
            try:
                file = f"{folder}/{name}.md"
                content = read_text_file(workspace, file, max_bytes=MAX_BYTES, note=False)
                # Hidden characters must not instruct the model.
                yield _parsed(path, name, for_terminal(content.text))
            except ToolError as error:
                yield FileCommand(name, "", path=path, problem=f"{path}: {error}")


def _parsed(path: Path, name: str, text: str) -> FileCommand:
    """Return the command in *text*, or one with the problem of the file."""
    lines = text.splitlines()
    end = -1
    if lines and lines[0].rstrip() == DIVIDER:
        end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == DIVIDER), 0)
    body = lines[end + 1 :]
    first = next((line.strip("# ") for line in body if line.strip()), "")
    problem = ""
    if not NAME.fullmatch(name):
        problem = f"{path}: {name!r} is no name of a command: use a-z, 0-9, - and _"
    elif end == 0:
        problem = f"{path}:{len(lines)}: no line {DIVIDER} ends the head"
    elif odd := next((at for at in range(1, end) if not _HEAD_LINE.match(lines[at])), 0):
        problem = f"{path}:{odd + 1}: {one_line(lines[odd], SHOWN_COLUMNS)!r} is no `key: value`"
    elif not any(line.strip() for line in body):
        problem = f"{path}:{max(1, len(lines))}: there is no text to send"
    head = [line.partition(":") for line in lines[1 : max(end, 1)]]
    fields = {key.strip(): value.strip() for key, _, value in head}
    meaning = fields.get("description", first)[:MEANING_CHARS]
    takes = fields.get("argument-hint", "")
    return FileCommand(name, "\n".join(body), meaning, takes, path, problem)


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()
