"""`nanocoder mcp serve`: the tools of a session for any client of the Model Context Protocol."""

from argparse import Namespace

from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_mcp_server.settings import Settings


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.mcp-server]`."""
    return Settings


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the command `mcp serve`."""
    arguments = (
        Argument("--http", "serve at this port of 127.0.0.1 (0: any free one)", metavar="PORT"),
        Argument("--tools", "the tools to offer, with commas between", metavar="NAME,…"),
        Argument("--mode", "plan, ask, edits or auto", choices=("plan", "ask", "edits", "auto")),
        Argument("--cwd", "the directory (default: this one)", metavar="DIR"),
    )
    help_text = "offer the tools of this directory to a client of the Model Context Protocol"
    return [Command("mcp serve", help_text, _serve, arguments, outside_calls=True)]


def _serve(arguments: Namespace, host: Host) -> int:
    # The SDK costs half a second; only a server needs it.
    from nanocoder_mcp_server.serving import serve

    return serve(arguments, host)
