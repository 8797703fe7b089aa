"""The servers of one session: started, watched, and ended with it."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder import ToolError

MAX_SERVERS: Final = 8
LOG_BYTES: Final = 64_000
STOP_S: Final = 7.0  # what the keeper may take: three seconds politely, two by force
CONNECT_S: Final = 0.5
KEEPER: Final = Path(__file__).with_name("keeper.py")


class Server:
    """One server, behind its keeper."""

    def __init__(
        self,
        identity: str,
        command: str,
        port: int,
        argv: list[str],
        cwd: Path,
        env: Mapping[str, str],
    ) -> None:
        self.id = identity
        self.command = command
        self.port = port
        self._log = bytearray()
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._ended = 0.0
        # -I and -S: nothing that lies in the workspace or is installed changes the keeper.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), *argv],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True, name="nanocoder-server")
        self._reader.start()

    @property
    def pid(self) -> int:
        """The keeper's process."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The server's exit code; None while it runs."""
        code = self._process.poll()
        if code is not None and not self._ended:
            self._ended = time.monotonic()
        return code

    @property
    def uptime_s(self) -> float:
        """For how many seconds it has run, or ran."""
        self.exit_code  # noqa: B018 - takes note of an end
        return (self._ended or time.monotonic()) - self._started

    def log(self, lines: int) -> str:
        """Return the last *lines* lines of what it printed."""
        with self._lock:
            text = self._log.decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-lines:])

    def stop(self) -> bool:
        """End it and everything that came from it; tell whether it was running."""
        was_running = self.exit_code is None
        self.release()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S)
        self._reader.join(1.0)
        if not self._reader.is_alive() and self._process.stdout is not None:
            self._process.stdout.close()
        return was_running

    def release(self) -> None:
        """Tell the keeper to stop, without waiting for it."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _read(self) -> None:
        pipe = self._process.stdout
        if pipe is None:
            return
        while piece := os.read(pipe.fileno(), 65_536):
            with self._lock:
                self._log += piece
                del self._log[:-LOG_BYTES]


class Servers:
    """All servers of a session; methods may be called from any thread."""

    def __init__(self) -> None:
        self._servers: dict[str, Server] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._closed = False

    def start(
        self, command: str, port: int, argv: list[str], cwd: Path, env: Mapping[str, str]
    ) -> Server:
        """Start one; raises ToolError (too_many_servers, spawn_failed)."""
        with self._lock:
            running = [one for one in self._servers.values() if one.exit_code is None]
            if self._closed or len(running) >= MAX_SERVERS:
                raise ToolError(
                    f"{len(running)} servers are running, and {MAX_SERVERS} are the most; stop one",
                    error_class="too_many_servers",
                )
            self._count += 1
            try:
                server = Server(f"server-{self._count}", command, port, argv, cwd, env)
            except (OSError, ValueError) as error:
                raise ToolError(
                    f"the server could not be started: {error}", error_class="spawn_failed"
                ) from error
            self._servers[server.id] = server
            return server

    def get(self, identity: str) -> Server:
        """Return one by its id; raises ToolError (unknown_server)."""
        with self._lock:
            found = self._servers.get(identity)
            have = ", ".join(self._servers) or "none"
        if found is None:
            raise ToolError(
                f"there is no server {identity!r}; there are: {have}", error_class="unknown_server"
            )
        return found

    def all(self) -> list[Server]:
        """Return all, the ended ones too, in the order in which they were started."""
        with self._lock:
            return list(self._servers.values())

    def forget(self, server: Server) -> None:
        """Leave out a server that has been stopped."""
        with self._lock:
            self._servers.pop(server.id, None)

    def close(self) -> None:
        """Stop all of them, at once."""
        with self._lock:
            self._closed = True
            servers = list(self._servers.values())
            self._servers.clear()
        for server in servers:
            server.release()
        for server in servers:
            server.stop()


def is_listening(port: int) -> bool:
    """Tell whether something of this machine accepts connections on *port*."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as tried:
                tried.settimeout(CONNECT_S)
                if tried.connect_ex((host, port)) == 0:
                    return True
        except OSError:  # no IPv6 here
            continue
    return False
