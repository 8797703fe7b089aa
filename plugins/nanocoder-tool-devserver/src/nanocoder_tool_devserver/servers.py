"""The servers of one session, which end with it."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder_kit_process.background import Background, BackgroundProcess

MAX_SERVERS: Final = 8
CONNECT_S: Final = 0.5


class Server(BackgroundProcess):
    """One server; *port* is 0 when it is unknown."""

    def __init__(
        self,
        identity: str,
        command: str,
        argv: list[str],
        cwd: Path,
        env: Mapping[str, str],
        port: int,
    ) -> None:
        super().__init__(identity, command, argv, cwd, env)
        self.port = port


class Servers(Background[Server]):
    """All servers of a session."""

    def __init__(self) -> None:
        super().__init__("server", MAX_SERVERS)

    def run(
        self, command: str, argv: list[str], cwd: Path, env: Mapping[str, str], port: int
    ) -> Server:
        """Start a server; raises ToolError (too_many_servers, spawn_failed)."""
        return self.start(lambda identity: Server(identity, command, argv, cwd, env, port))


def is_listening(port: int) -> bool:
    """Tell whether something of this machine accepts connections on *port*."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.settimeout(CONNECT_S)
                if probe.connect_ex((host, port)) == 0:
                    return True
        except OSError:  # no IPv6 here
            continue
    return False
