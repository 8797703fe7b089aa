"""The only way out of a sandbox: a proxy that connects to the hosts on a list, and to no others.

It runs in nanocoder, outside, and listens on a socket of the file system. Every name is looked up
here, and every address is checked before it is connected to.
"""

import socket
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from nanocoder import ToolError
from nanocoder_kit_llm.net import Guard, Target, parse_host_rules, parse_rules, parse_url

from nanocoder_kit_sandbox.bridge import PIECE_BYTES, relay
from nanocoder_kit_sandbox.settings import WEB_PORTS

HEAD_BYTES: Final = 65_536
HEAD_S: Final = 10.0
CONNECT_S: Final = 15.0
IDLE_S: Final = 300.0
MOST: Final = 128
"""The limit of simultaneous connections."""
_OF_PROXIES: Final = ("proxy-", "connection:", "keep-alive:", "host:")


class Proxy:
    """A proxy at *path* for *hosts*; without hosts it refuses all.

    An entry of *hosts* is "example.org" or "*.example.org", on the ports 80 and 443, or one with a
    port, "example.org:8443".

    *addresses* are those that may be connected to although they are not public.
    Raises: ValueError for a rule that is none, OSError where *path* cannot be listened on.
    """

    def __init__(self, path: Path, hosts: Sequence[str], addresses: Sequence[str] = ()) -> None:
        self._guard = Guard(parse_rules(addresses), parse_host_rules(hosts, WEB_PORTS))
        self._room = threading.BoundedSemaphore(MOST)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(MOST)
        threading.Thread(target=self._serve, daemon=True, name="nanocoder-proxy").start()

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                self._room.acquire()
                threading.Thread(target=self._answer, args=[client], daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        try:
            with closing(client), suppress(OSError):
                client.settimeout(HEAD_S)
                try:
                    self._pass_on(client, _read_head(client))
                except ToolError as error:
                    client.sendall(_refusal(str(error)))
        finally:
            self._room.release()

    def _pass_on(self, client: socket.socket, head: bytes) -> None:
        """Connect to the host that a request asks for; raises ToolError."""
        method, target, lines = _parse(head)
        self._guard.check(target)
        with closing(self._connect(target)) as server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                server.sendall(_own_head(method, target, lines) + head.partition(b"\r\n\r\n")[2])
            for each in (client, server):
                each.settimeout(IDLE_S)
            relay(client, server, IDLE_S)

    def _connect(self, target: Target) -> socket.socket:
        problem = ""
        for address in self._guard.resolve(target.host, target.port):
            try:
                return socket.create_connection((address, target.port), CONNECT_S)
            except OSError as error:
                problem = error.strerror or str(error)
        raise ToolError(f"{target.host!r} could not be reached on port {target.port}: {problem}")


def _read_head(client: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(PIECE_BYTES)
        if not piece or len(head) > HEAD_BYTES:
            raise ToolError("the request to the proxy has no end")
        head += piece
    return head


def _parse(head: bytes) -> tuple[str, Target, list[str]]:
    """Return the method, what is asked for, and the lines of the header; raises ToolError."""
    first, *lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not first.isascii() or not first.isprintable():  # noqa: PLR2004
        raise ToolError("the request to the proxy is not one")
    method, address, _ = words
    if method == "CONNECT":
        return method, parse_url(f"https://{address}/"), lines
    target = parse_url(address)
    if target.scheme != "http":
        raise ToolError("the proxy passes on plain requests for http:// alone; use CONNECT")
    return method, target, lines


def _own_head(method: str, target: Target, lines: Sequence[str]) -> bytes:
    """Return the request for the server: one request, to the host that was checked."""
    own = [line for line in lines if not line.lower().startswith(_OF_PROXIES)]
    first = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}", "Connection: close"]
    return ("\r\n".join([*first, *own]) + "\r\n\r\n").encode("latin-1")


def _refusal(reason: str) -> bytes:
    body = f"nanocoder: {reason}\n".encode("utf-8", "replace")
    lines = ["HTTP/1.1 403 Forbidden", "Content-Type: text/plain; charset=utf-8"]
    lines += [f"Content-Length: {len(body)}", "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
