"""The servers of one session, which end with it."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder_kit_process.background import Background, BackgroundProcess

MAX_SERVERS: Final = 8
CONNECT_S: Final = 0.5
_LISTENING: Final = "0A"
"""The state of a socket that listens, as /proc words it."""


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

    def listens_on(self, port: int) -> bool:
        """Return True if something listens on *port* in the server's network, as of a sandbox."""
        return is_listening(port) or self._listens_inside(port)

    def _listens_inside(self, port: int) -> bool:
        for name in ("tcp", "tcp6"):
            try:
                lines = Path(f"/proc/{self.pid}/net/{name}").read_text("ascii").splitlines()[1:]
            except OSError:  # it has ended, or this is not Linux
                continue
            for _, local, _, state, *_ in map(str.split, lines):
                if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                    return True
        return False


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
    """Return True if something of this machine accepts connections on *port*."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.settimeout(CONNECT_S)
                if probe.connect_ex((host, port)) == 0:
                    return True
        except OSError:  # no IPv6 here
            continue
    return False
