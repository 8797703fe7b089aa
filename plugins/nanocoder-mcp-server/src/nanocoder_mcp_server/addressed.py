"""The server at an address of this machine, for clients that know the token."""

import logging
import os
import secrets
import socket
import sys
from typing import Any, Final

import uvicorn
from nanocoder import UsageError

from nanocoder_mcp_server.connections import BACKLOG, SHUTDOWN_S, Gate
from nanocoder_mcp_server.events import app_of

VARIABLE: Final = "NANOCODER_MCP_TOKEN"
"""The variable with the token of clients over HTTP; without it a new one is printed."""


def serve_at_address(server: Any, port: int) -> None:
    """Serve on 127.0.0.1 alone, to clients with the token; Host and Origin are checked, too."""
    token = os.environ.get(VARIABLE) or secrets.token_urlsafe(32)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            listening.listen(BACKLOG)
        except OSError as error:
            raise UsageError(f"port {port} cannot be used: {error.strerror}") from None
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        words = "the token of NANOCODER_MCP_TOKEN" if os.environ.get(VARIABLE) else token
        where = f"serving at {address}, with the header Authorization: Bearer {words}"
        # The token is for this user, so it bypasses the redaction of messages.
        print(f"nanocoder: {where}", file=sys.__stderr__ or sys.stderr, flush=True)
        gate = Gate(app_of(server), token)
        # An unauthenticated request must not write to the terminal through the SDK or uvicorn.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        logging.getLogger("mcp").propagate = False
        config = uvicorn.Config(
            gate,
            http=gate.protocol,  # type: ignore[arg-type]  # it is called as the class would be
            backlog=BACKLOG,
            timeout_graceful_shutdown=SHUTDOWN_S,
            interface="asgi3",
            log_level="critical",
            lifespan="on",
            access_log=False,
        )
        uvicorn.Server(config).run(sockets=[listening])
    sys.stderr.flush()
