"""MCP servers in a conversation: `/mcp`, prompts as commands, resources as mentions."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from nanocoder import Config, ConfigError, SessionInfo, UsageError

from nanocoder_mcp import records
from nanocoder_mcp.configured import Configured, configured
from nanocoder_mcp.offered import READER
from nanocoder_mcp.prompts import URI
from nanocoder_mcp.records import Record
from nanocoder_mcp.settings import Settings
from nanocoder_mcp.states import HEAD, READY, left_out_lines, state_of

COMMAND: Final = "mcp"
TAKES: Final = "[review [NAME]]"
MEANING: Final = "MCP servers: state, tools, tokens; see and accept what they offer"
ACTIONS: Final = ("review", "test", "login", "logout")
"""Actions that `/mcp` shares with `nanocoder mcp`."""
Call = tuple[str, Mapping[str, Any]]
CommandLine = tuple[str, Mapping[str, Any]]


class Chat:
    """The plugin's part in one conversation; it reads only through a call of the session's tool."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._session = session
        self._settings = settings

    @property
    def _configured(self) -> Configured:
        folder = None
        with suppress(ConfigError):
            folder = Config.load(self._session.cwd).trusted_folder
        return configured(self._settings, folder, self._session.cwd)

    @property
    def notices(self) -> Sequence[str]:
        """Warnings for the user before the first prompt: problems, servers not trusted yet."""
        return self._configured.remarks

    @property
    def commands(self) -> Mapping[str, tuple[str, str]]:
        """Arguments and meaning of each command, by its name."""
        prompts = {
            f"{name}:{prompt['name']}": (_takes(prompt), prompt["meaning"])
            for name, record in self._accepted()
            for prompt in record.prompts
        }
        return {COMMAND: (TAKES, MEANING), **prompts}

    @property
    def mentions(self) -> Mapping[str, str]:
        """The meaning of each listed resource, by its name behind the @."""
        return {
            f"{name}:{resource['uri']}": resource["meaning"]
            for name, record in self._accepted()
            for resource in record.resources
        }

    def rows(self, name: str) -> Sequence[Sequence[str]] | None:
        """Return the table that the command *name* shows, or None if it makes a call."""
        if name != COMMAND:
            return None
        states = [state_of(server) for server in self._configured.servers.values()]
        remarks = [(text,) for text in self._configured.remarks]
        if not states:
            empty = "No server is configured; nanocoder mcp add NAME -- COMMAND adds one."
            return [(empty,), *remarks]
        problems = [f"{each['server']}: {each['problem']}" for each in states if each["problem"]]
        cells = [tuple(str(state[key]) for key in HEAD) for state in states]
        problems += [line for state in states for line in left_out_lines(state)]
        return [HEAD, *cells, *((text,) for text in problems), *remarks]

    def command_lines(self, name: str, argument: str) -> Sequence[CommandLine]:
        """Return the commands of `nanocoder mcp` that `/mcp ACTION [NAME]` runs.

        Without a NAME it reviews every server that needs a review; raises UsageError.
        """
        action, *names = argument.split() or [""]
        if name != COMMAND or not action:
            return ()
        if action not in ACTIONS or len(names) > 1 or not (names or action == ACTIONS[0]):
            raise UsageError(f"/{COMMAND} takes {', '.join(ACTIONS)} and the name of a server")
        states = map(state_of, self._configured.servers.values())
        names = names or [state["server"] for state in states if state["state"] != READY]
        if not names:
            raise UsageError("no server waits for a review")
        values = {"output": "text", "cwd": str(self._session.cwd)}
        return [(f"{COMMAND} {action}", {"name": each, **values}) for each in names]

    def call(self, name: str, argument: str) -> Call:
        """Return the call that the command *name* makes; raises UsageError."""
        server, _, prompt_name = name.partition(":")
        prompts = {prompt["name"]: prompt for prompt in dict(self._accepted())[server].prompts}
        prompt = prompts[prompt_name]
        values = _values(name, prompt, argument)
        return READER, {"server": server, "prompt": prompt_name, "arguments": values}

    def mention(self, name: str) -> Call | None:
        """Return the call that reads the resource *name*, or None if no server has it."""
        server, _, uri = name.partition(":")
        has_it = any(each == server and record.resources for each, record in self._accepted())
        return (READER, {"server": server, "uri": uri}) if has_it and URI.fullmatch(uri) else None

    def _accepted(self) -> Iterator[tuple[str, Record]]:
        for name, server in self._configured.servers.items():
            record = records.read(server)
            if record.agrees_to(server):
                yield name, record


def _takes(prompt: Mapping[str, Any]) -> str:
    words = ((each["name"].upper(), each["required"]) for each in prompt["arguments"])
    return " ".join(word if required else f"[{word}]" for word, required in words)


def _values(name: str, prompt: Mapping[str, Any], argument: str) -> dict[str, str]:
    """Return the arguments of *prompt*: words in their order, or NAME=WORD."""
    try:
        words = shlex.split(argument)
    except ValueError:
        words = argument.split()
    values: dict[str, str] = {}
    free = [each["name"] for each in prompt["arguments"]]
    for word in words:
        key, sign, value = word.partition("=")
        if not (sign and key in free):
            key, value = (free[0] if free else ""), word
        if not key:
            raise UsageError(f"/{name} takes {_takes(prompt) or 'no words'}; {word!r:.60} is more")
        values[key] = value
        free.remove(key)
    if any(each["required"] and each["name"] not in values for each in prompt["arguments"]):
        raise UsageError(f"/{name} takes {_takes(prompt)}")
    return values
