"""The provider `replay`: replays a recorded session, and reports the first difference."""

import os
from argparse import Namespace
from collections.abc import Mapping
from importlib import import_module
from typing import Final

from nanocoder import Argument, Command, Host, Provider, ProviderSpec, hookimpl

from nanocoder_provider_replay.provider import open_replay
from nanocoder_provider_replay.replaying import replay_file, replay_tools
from nanocoder_provider_replay.settings import Settings

__all__ = ["Settings", "replay", "replay_with_tools"]

SESSION: Final = Argument(
    "id",
    "the session's ID or its beginning (default: the last one here)",
    count="?",
    default="last",
    completes="sessions",
)
SESSION_OR_FILE: Final = Argument(
    "id",
    "the session's ID or its beginning, or a recording, FILE.json (default: the last one here)",
    count="?",
    default="last",
    completes="sessions",
)
TOOLS: Final = Argument(
    "--tools", "also test the tools, on the files that the session's calls name", kind="flag"
)
SMALL: Final = Argument(
    "--small", "the recorded model got its requests in the form for small models", kind="flag"
)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.provider-replay]`."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer the provider "replay"; it is never chosen by itself."""
    return [
        ProviderSpec(
            "replay",
            _open,
            description="Plays the recording of a session.",
            hint="--model replay/FILE.json plays what `nanocoder sessions record` wrote",
            rank=100,
        )
    ]


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the commands that write recordings."""
    return [
        Command(
            "sessions record",
            "print what a session's model answered, to be played again",
            _record,
            (SESSION, SMALL),
        ),
        Command(
            "sessions replay",
            "play a session again without its model and tools, and say where it diverges",
            _replay,
            (
                SESSION_OR_FILE,
                SMALL,
                Argument("--journal", "also write the journal of the replay", metavar="FILE"),
                Argument("--output", "output format", default="text", choices=("text", "json")),
            ),
        ),
        Command(
            "sessions to-test",
            "make a session a pytest file with a recording",
            _to_test,
            (
                SESSION,
                SMALL,
                TOOLS,
                Argument(
                    "--into",
                    "where the files are written (default: tests)",
                    metavar="DIR",
                    default="tests",
                ),
            ),
        ),
    ]


def _open(model: str, settings: Settings | None) -> Provider:
    return open_replay(model, settings or Settings())


def replay(
    path: str | os.PathLike[str],
    cwd: str | os.PathLike[str],
    *,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Replay the recording *path* in the directory *cwd*; return the first divergence, or "".

    The configuration and the policies are the present ones. The model's replies, the results of
    tools, the answers of people, ids and times are the recorded ones. *environment* replaces the
    process's own variables. Raises: UsageError, ConfigError, ProviderError.
    """
    return replay_file(path, cwd, environment)


def replay_with_tools(
    path: str | os.PathLike[str],
    cwd: str | os.PathLike[str],
    *,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Replay the recording *path* in the directory *cwd*, and run the real tools.

    Only the model's replies and the answers of people are the recorded ones. Returns the first
    divergence, or "". Raises: UsageError, ConfigError, ProviderError.
    """
    return replay_tools(path, cwd, environment)


def _record(arguments: Namespace, host: Host) -> int:
    return int(import_module("nanocoder_provider_replay.commands").record(arguments, host))


def _replay(arguments: Namespace, host: Host) -> int:
    module = import_module("nanocoder_provider_replay.commands")
    return int(module.replay_session(arguments, host))


def _to_test(arguments: Namespace, host: Host) -> int:
    return int(import_module("nanocoder_provider_replay.commands").to_test(arguments, host))
