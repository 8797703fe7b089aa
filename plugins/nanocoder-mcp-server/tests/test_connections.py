"""Strangers on this machine that connect, and clients that do not leave."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager

import pytest
from command_line import COMMAND

pytestmark = pytest.mark.timeout(120)
DESCRIPTORS = 256
LIMITED = f'ulimit -n {DESCRIPTORS}; exec "$0" "$@"'
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"


class Serving:
    """A server that runs, and its address."""

    def __init__(self, process):
        self.process = process
        line = ""
        while "serving at" not in line:
            line = process.stderr.readline()
        port, self.token = re.search(r"127\.0\.0\.1:(\d+)/mcp, .* Bearer (\S+)", line).groups()
        self.port = int(port)

    def send(self, *lines, body=b"", method="POST"):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        head = [
            f"{method} /mcp HTTP/1.1",
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {len(body)}",
            *lines,
        ]
        if not any(line.startswith("Host") for line in lines):
            head.append(f"Host: 127.0.0.1:{self.port}")
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        return connection

    def hello(self, *lines):
        """Begin a session; return the status, and the session's id."""
        with self.send(*lines, body=json.dumps(HELLO).encode()) as connection:
            head = connection.recv(4096).decode()
        found = re.search(r"mcp-session-id: (\S+)", head)
        return int(head.split()[1]), found and found[1]

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextmanager
def serving(nanocoder, warm, tmp_path):
    home, cwd = tmp_path / "person", tmp_path / "project"
    home.mkdir()
    cwd.mkdir()
    warm(home)

    with subprocess.Popen(
        ["sh", "-c", LIMITED, COMMAND, "mcp", "serve", "--http", "0", "--tools", "read_file"],
        cwd=cwd,
        env={**nanocoder.environment, "HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Serving(process)
        finally:
            process.kill()


@pytest.mark.rows(1)
@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{"])
def test_strangers_who_only_connect_keep_no_client_out(nanocoder, warm, tmp_path, sent):
    with serving(nanocoder, warm, tmp_path) as server, ExitStack() as stack:
        for _ in range(3 * DESCRIPTORS):
            stranger = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            stack.enter_context(stranger)
            try:
                stranger.sendall(sent)
            except OSError:  # it was turned away already
                continue
        assert server.hello()[0] == 200
        assert server.descriptors < DESCRIPTORS
        deadline = time.monotonic() + 60
        while server.descriptors > 20:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_client_that_listens_and_a_stranger_do_not_hold_the_end_up(nanocoder, warm, tmp_path):
    with serving(nanocoder, warm, tmp_path) as server:
        _, session = server.hello()
        lines = (f"Mcp-Session-Id: {session}", "Mcp-Protocol-Version: 2025-06-18")
        with (
            server.send(*lines, method="GET") as listener,
            socket.create_connection(("127.0.0.1", server.port)) as stranger,
        ):
            assert listener.recv(15) == b"HTTP/1.1 200 OK"
            stranger.sendall(HEAD)
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(30)
        assert server.process.stderr.read() == ""


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    ("line", "status"),
    [
        *(("Host: localhost:80@evil.test", 421), ("Host: 127.0.0.1:x", 421), ("Host: ", 421)),
        *(("Host: localhost.:1", 421), ("Origin: http://localhost:1.evil.test", 403)),
        *(("Origin: http://localhost:80@evil.test", 403), ("Origin: https://localhost:1", 403)),
        *(("Origin: file://", 403), ("Origin: ", 403), ("Host: localhost:1", 200)),
        ("Origin: http://127.0.0.1:9", 200),
    ],
)
def test_only_this_machine_is_a_host_and_an_origin(server, line, status):
    assert server.hello(line)[0] == status


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("server")
    environment = {**os.environ, "HOME": str(path), "XDG_STATE_HOME": str(path / "state")}
    with subprocess.Popen(
        [COMMAND, "mcp", "serve", "--http", "0", "--tools", "read_file"],
        cwd=path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield Serving(process)
        process.kill()
