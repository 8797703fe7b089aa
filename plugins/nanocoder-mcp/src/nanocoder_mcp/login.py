"""Interactive login at a server: the user authorizes nanocoder in a browser."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from nanocoder import Host, ToolError, UsageError, for_terminal

from nanocoder_mcp.connection import Connection
from nanocoder_mcp.credentials import refuse_open_address
from nanocoder_mcp.definitions import Listing, listing_of
from nanocoder_mcp.guarded_auth import REFUSED, judged
from nanocoder_mcp.http import Endpoint
from nanocoder_mcp.oauth import LoginAuth
from nanocoder_mcp.redirect import Redirect, waiting
from nanocoder_mcp.requests import ServerRequests
from nanocoder_mcp.review import with_token
from nanocoder_mcp.server import Server

LOGIN_S: Final = 300.0
"""Timeout of a login, in seconds."""
DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
LINE_BYTES: Final = 65_536
PASTE: Final = (
    "Where that browser is on another machine, it ends at an address of 127.0.0.1 that it cannot"
    " open: paste that address here."
)


def log_in(
    server: Server, cwd: Path, show: Callable[[str], None], host: Host | None = None
) -> tuple[Listing, dict[str, Any], bool]:
    """Log in at *server*; return its listing, its info, and whether a login was needed.

    *show* gets the address that the user has to open. With *host* the user may paste the address
    at which the browser ended, if the browser cannot reach this machine. Raises: UsageError for a
    server without logins, ToolError for a failed login.
    """
    refuse_open_address(server)
    if "grant" in server.oauth:
        raise UsageError(f"{server.name!r} gets its tokens without a person; call one of its tools")
    with asyncio.Runner() as runner:
        lists, info, is_new = runner.run(_log_in(server, cwd, show, host))
    return listing_of(server.name, *lists), info, is_new


def show_address(server: Server, host: Host, address: str) -> None:
    """Show the address of the login, and open it in a browser if there is one."""
    host.print_line(f"To log in at {server.name}, open this address in a browser here:")
    host.print_line(for_terminal(address))
    if host.is_interactive:
        host.print_line(PASTE)
    sys.stdout.flush()  # a program that reads it waits for it
    if host.is_interactive and _has_display():
        webbrowser.open(address)


async def _log_in(
    server: Server, cwd: Path, show: Callable[[str], None], host: Host | None
) -> tuple[tuple[list[dict[str, Any]], ...], dict[str, Any], bool]:
    loop = asyncio.get_running_loop()
    keyboard = sys.stdin.fileno() if host is not None and host.is_interactive else None
    async with waiting(int(server.oauth.get("redirect_port", 0))) as redirect:

        async def expect(address: str) -> None:
            judged(server, address)
            redirect.expect(address)
            await asyncio.to_thread(show, address)
            if host is not None and keyboard is not None:
                loop.add_reader(keyboard, _accept_typed, keyboard, redirect, host)

        auth = LoginAuth(server, redirect.address, expect, redirect.code)
        connection = Connection(server, Endpoint(server, auth), ServerRequests(server.name, cwd))
        try:
            async with asyncio.timeout(LOGIN_S):
                await connection.open(LOGIN_S)
                lists, info = await connection.lists(), connection.info
        except ToolError as error:
            is_known = auth.found_login or redirect.is_expected or error.error_class == REFUSED
            if is_known or server.oauth:
                raise
            problem = f"{error}; it describes no login, so it may require a token: "
            raise ToolError(problem + with_token(server), error_class=error.error_class) from error
        except TimeoutError:
            problem = f"no login at the MCP server {server.name!r} within {LOGIN_S:g} s"
            raise ToolError(problem, error_class="login_needed") from None
        finally:
            if keyboard is not None:
                loop.remove_reader(keyboard)
            await connection.close()
        return lists, info, redirect.is_expected


def _accept_typed(keyboard: int, redirect: Redirect, host: Host) -> None:
    """Read a line that the user typed; end of input yields no line."""
    typed = os.read(keyboard, LINE_BYTES).decode("utf-8", "replace").strip()
    if typed:
        host.print_line(redirect.take(typed))
        sys.stdout.flush()
    else:
        asyncio.get_running_loop().remove_reader(keyboard)


def _has_display() -> bool:
    """Return True if a browser opens in a window, and not in the terminal."""
    return sys.platform == "darwin" or any(map(os.environ.get, DISPLAYS))
