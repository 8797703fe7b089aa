"""A conversation in a browser on the same machine.

The server listens on the loopback only, and only a browser that was opened with the one-time link
of the terminal gets anything from it.
"""

from argparse import Namespace
from typing import Any, Final

from attrs import field, frozen
from nanocoder import Argument, Command, Host, hookimpl

OUTPUT: Final = "web"
MODES: Final = ("plan", "ask", "edits", "auto")


@frozen
class Settings:
    """The table `[plugins.ui-web]`.

    *port* is the port to listen on; 0 selects a free one.
    """

    port: int = field(default=0, metadata={"user_only": True})


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.ui-web]`."""
    return Settings


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer `nanocoder web`."""
    return [
        Command(
            "web",
            "talk in a browser on this machine",
            _run_web,
            (
                Argument(
                    "--resume",
                    "continue a session (default: the last one here)",
                    count="?",
                    constant="last",
                    metavar="ID",
                    completes="sessions",
                ),
                Argument("--port", "the port to listen on (default: one that is free)", "integer"),
                Argument(
                    "--model", "the model, as provider/model", metavar="P/M", completes="models"
                ),
                Argument("--mode", "how much nanocoder may do without asking", choices=MODES),
                Argument("--cwd", "the workspace (default: this directory)", metavar="DIR"),
            ),
            outside_calls=True,
        )
    ]


def _run_web(arguments: Namespace, host: Host) -> int:
    from nanocoder_ui_web.command import run  # a command that is not typed costs nothing

    settings: Any = host.plugins.settings("ui-web") or Settings()
    return run(arguments, host, settings.port, OUTPUT)
