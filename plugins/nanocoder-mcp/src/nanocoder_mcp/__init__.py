"""Servers of the Model Context Protocol as tools, under the same rules as all others.

A session offers their tools from the reviewed records; a server starts at its first call.
"""

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import Argument, Command, Host, Resource, Tool, hookimpl

from nanocoder_mcp.chat import Chat
from nanocoder_mcp.offered import offered_tools
from nanocoder_mcp.settings import Settings

DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
NAME: Final = Argument("name", "the server's name")


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.mcp]`."""
    return Settings


@hookimpl
def nanocoder_tools(
    tools: Mapping[str, Tool[..., Any]], settings: Settings, trusted_folder: Path | None
) -> list[Tool[..., Any]]:
    """Offer the reviewed tools of the configured servers, without starting any."""
    return offered_tools(tools, settings, trusted_folder)


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide a session's running servers, and their part of a conversation."""
    return [Resource("servers", _open_servers), Resource("chat", _open_chat)]


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the actions of the group `mcp`."""
    json = Argument("--output", "text or json", choices=("text", "json"), default="text")
    start = "-- and the command that starts it, or its address"
    launch = Argument("launch", start, count="...", metavar="COMMAND|URL")
    env = Argument("--env", "variables for the server, such as 'A=1 B=2'", metavar="NAME=VALUE …")
    key = "a header for an address, such as 'Authorization: Bearer TOKEN'"
    header = Argument("--header", key, metavar="NAME:VALUE")
    sampling = Argument("--sampling", "let it ask you for answers of the model", kind="flag")
    yes = Argument("--yes", "accept what the server offers without a question", kind="flag")
    rows: list[tuple[str, str, tuple[Argument, ...], bool]] = [
        (
            "add",
            "add a server, once you have seen its tools",
            (env, header, sampling, yes, NAME, launch),
            True,
        ),
        (
            "list",
            "list the servers and their state; starts none",
            (json, DIRECTORY),
            False,
        ),
        ("review", "show what changed at a server, and accept it", (yes, NAME, DIRECTORY), True),
        ("test", "start a server and say what it answers", (json, NAME, DIRECTORY), False),
        ("login", "log in at a server in a browser", (yes, NAME, DIRECTORY), True),
        ("logout", "delete the stored login at a server", (NAME, DIRECTORY), True),
        ("remove", "remove a server and what was accepted of it", (NAME, DIRECTORY), True),
    ]
    return [
        Command(f"mcp {name}", text, _action(name), arguments, outside_calls=outside)
        for name, text, arguments, outside in rows
    ]


def _action(name: str) -> Callable[[Namespace, Host], int]:
    def run(arguments: Namespace, host: Host) -> int:
        from nanocoder_mcp import commands

        return int(getattr(commands, name)(arguments, host))

    return run


def _open_chat(session: Any, settings: Settings) -> Any:
    return Chat(session, settings)


def _open_servers(session: Any, settings: Settings) -> Any:
    from nanocoder_mcp.running import Servers  # the SDK: half a second and 64 MB

    return Servers(session, settings)
