"""Resources and prompts for clients: files and mentions as resources, commands as prompts.

Everything is read by a call of a tool that the client is offered, so a rule that denies the call
denies the resource, too.
"""

import mimetypes
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

import mcp_types
from attrs import frozen
from nanocoder import Session, Tool, ToolError, ToolResult, UsageError, Workspace
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_kit_ui.commands import (
    Call,
    FileCommand,
    Part,
    find_file_commands,
    plugin_parts,
    run_shell_parts,
)

from nanocoder_mcp_server.calls import Run

READER: Final = "read_file"
SKILLS: Final = "skill"
SHELL: Final = "bash"
ARGUMENTS: Final = "arguments"
MAX_FILES: Final = 1_000
"""Limit of the listed files; any other can be read by its URI."""
MAX_VALUES: Final = 100
"""The most values that the protocol lets a completion have."""
TEXT: Final = "text/plain"


@frozen
class Texts:
    """The readable parts of *session*, for clients that are offered *tools*."""

    session: Session
    tools: Mapping[str, Tool[..., Any]]

    def resources(self) -> list[mcp_types.Resource]:
        """Return the readable files of the workspace, and the mentions of plugins."""
        files = [
            mcp_types.Resource(uri=self.address(path), name=path, mime_type=media_type_of(path))
            for path in self._files()
        ]
        named = [
            mcp_types.Resource(uri=name, name=name, description=meaning)
            for part in self._parts()
            for name, meaning in part.mentions.items()
            if self._allowed(part.mention(name)) is not None
        ]
        return [*named, *files]

    def templates(self) -> list[mcp_types.ResourceTemplate]:
        """Return the URI template of files, if the tool that reads them is offered."""
        if READER not in self.tools:
            return []
        address = f"{self._root}{{+path}}"
        meaning = "A file of the workspace, by its path."
        return [mcp_types.ResourceTemplate(uri_template=address, name="file", description=meaning)]

    def address(self, path: str) -> str:
        """Return the address of the file *path* of the workspace."""
        return f"{self._root}{quote(path)}"

    def path_of(self, uri: str) -> str | None:
        """Return the path of a file's address, None for another address."""
        if not uri.startswith("file://"):
            return None
        root = self._root
        return unquote(uri.removeprefix(root) if uri.startswith(root) else urlsplit(uri).path)

    def reading(self, uri: str) -> Call | None:
        """Return the call that reads a resource, or None if there is no such resource."""
        path = self.path_of(uri)
        if path is not None:
            return self._allowed((READER, {"path": path}))
        calls = (self._allowed(part.mention(uri)) for part in self._parts())
        return next(filter(None, calls), None)

    def watched(self, uri: str) -> Path | None:
        """Return the path of the workspace's file at *uri*, or None if it cannot be read."""
        path, cwd = self.path_of(uri), self.session.info.cwd
        if path is None or not uri.startswith(self._root):
            return None
        with Workspace(cwd, readable=self.session.info.readable) as workspace, suppress(ToolError):
            return cwd / path if workspace.is_file(path) else None
        return None

    def prompts(self, run: Run) -> list[mcp_types.Prompt]:
        """Return the commands from files and plugins, and the skills."""
        files = (_prompt(each.name, each.meaning, each.takes) for each in self._commands().values())
        added = (
            _prompt_with_names(name, meaning, takes)
            for part in self._parts()
            for name, (takes, meaning) in part.commands.items()
            if part.rows(name) is None
        )
        prompts = {prompt.name: prompt for prompt in (*added, *self._skills(run), *files)}
        return [prompts[name] for name in sorted(prompts)]

    def prompt(self, name: str, arguments: Mapping[str, str], run: Run) -> ToolResult | None:
        """Return the text of a prompt, or None for an unknown one; raises UsageError."""
        if (command := self._commands().get(name)) is not None:
            text = command.prompt(" ".join(arguments.values()).strip())
            return ToolResult(run_shell_parts(text, lambda line: self._run_shell(line, run)))
        if SKILLS in self.tools and name.startswith(f"{SKILLS}:"):
            return run(SKILLS, {"name": name.removeprefix(f"{SKILLS}:")})
        for part in self._parts():
            if name in part.commands and part.rows(name) is None:
                call = self._allowed(part.call(name, _typed(arguments, part.commands[name][0])))
                return None if call is None else run(*call)
        return None

    def values(self, ref: Any, name: str, start: str) -> list[str]:
        """Return the values of an argument that begin with *start*."""
        if ref.type != "ref/resource" or name != "path":
            return []
        return [path for path in self._files() if path.startswith(start)]

    @property
    def _root(self) -> str:
        return f"{self.session.info.cwd.as_uri()}/"

    def _files(self) -> list[str]:
        """Return the files that no rule hides and git does not ignore."""
        if READER not in self.tools:
            return []
        paths = []
        with Workspace(self.session.info.cwd, readable=self.session.info.readable) as workspace:
            for entry in walk(workspace, details=False):
                if entry.kind == "file":
                    paths.append(entry.path)
                if len(paths) == MAX_FILES:
                    break
        return sorted(paths)

    def _parts(self) -> Iterator[Part]:
        return plugin_parts(self.session)

    def _commands(self) -> dict[str, FileCommand]:
        commands = find_file_commands(self.session, ())
        return {each.name: each for each in commands if not each.problem and each.path is not None}

    def _skills(self, run: Run) -> Iterator[mcp_types.Prompt]:
        if SKILLS not in self.tools:
            return
        for each in (run(SKILLS, {}).data or {}).get("skills", ()):
            yield _prompt(f"{SKILLS}:{each['name']}", each["description"], None)

    def _run_shell(self, command: str, run: Run) -> str:
        if SHELL not in self.tools:
            return f"[not run, because this client is not offered the tool {SHELL}: {command}]"
        return run(SHELL, {"command": command}).output

    def _allowed(self, call: Call | None) -> Call | None:
        """Return *call* if the client is offered its tool."""
        return call if call is not None and call[0] in self.tools else None


def without_numbers(text: str) -> str:
    """Return the text of a file as it is, without the numbers that its lines are read with."""
    lines = (line.partition("\t") for line in text.split("\n"))
    return "\n".join(
        rest if tab and head.isdecimal() else head + tab + rest for head, tab, rest in lines
    )


def media_type_of(path: str) -> str:
    """Return the media type of the file at *path*, by its name."""
    return mimetypes.guess_type(path)[0] or TEXT


def _prompt(name: str, meaning: str, takes: str | None) -> mcp_types.Prompt:
    """Return a prompt that takes one text, or with None nothing."""
    words = mcp_types.PromptArgument(name=ARGUMENTS, description=takes or "More words.")
    return mcp_types.Prompt(
        name=name, description=meaning or None, arguments=[] if takes is None else [words]
    )


def _prompt_with_names(name: str, meaning: str, takes: str) -> mcp_types.Prompt:
    """Return a prompt whose arguments are named as in `WHO [TONE]`."""
    arguments = [
        mcp_types.PromptArgument(name=word.strip("[]").lower(), required=not word.startswith("["))
        for word in takes.split()
    ]
    return mcp_types.Prompt(name=name, description=meaning or None, arguments=arguments)


def _typed(arguments: Mapping[str, str], takes: str) -> str:
    """Return *arguments* as a user would type them to a command; raises UsageError."""
    values = {name.lower(): value for name, value in arguments.items()}
    words = []
    for word in takes.split():
        name = word.strip("[]").lower()
        if name not in values and word.startswith("["):
            break
        if name not in values:
            raise UsageError(f"the argument {name!r} is missing")
        words.append(shlex.quote(values[name]))
    return " ".join(words)
