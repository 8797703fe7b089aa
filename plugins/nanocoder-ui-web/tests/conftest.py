"""The real command in a process of its own, and programs and browsers that talk to it."""

import json
import signal
import subprocess
from contextlib import contextmanager

import httpx
import pytest
from command_line import COMMAND

WAIT_S = 20


class Web:
    """A running `nanocoder web`: its *link*, and requests as its page makes them."""

    def __init__(self, process):
        self.process = process
        self.link = process.stdout.readline().strip()
        self.origin, _, self.token = self.link.partition("/#")
        self.client = httpx.Client(
            base_url=self.origin, headers={"Origin": self.origin}, timeout=WAIT_S
        )

    def login(self, token=None):
        """Exchange a token, and send its key from now on."""
        response = self.client.post("/api/login", json={"token": token or self.token})
        if response.is_success:
            self.client.headers["Authorization"] = f"Bearer {response.json()['key']}"
        return response

    def post(self, path, **values):
        """Do what a button of the page does."""
        return self.client.post(f"/api/{path}", json=values)

    @contextmanager
    def entries(self, after=0):
        """Provide the entries after a number, as they come."""
        headers = {"Last-Event-ID": str(after)}
        with self.client.stream("GET", "/api/entries", headers=headers) as response:
            assert response.status_code == 200
            yield self._entries(response)

    def until(self, kind, after=0):
        """Return the entries up to the first one of *kind*."""
        with self.entries(after) as entries:
            seen = []
            for entry in entries:
                seen.append(entry)
                if entry["kind"] == kind:
                    return seen
        raise AssertionError(f"no {kind} among {seen}")

    @staticmethod
    def _entries(response):
        number = 0
        for line in response.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            if line.startswith("data: "):
                yield {"number": number, **json.loads(line[6:])}

    def leave(self, number=signal.SIGINT):
        """End the command and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)


@pytest.fixture
def web(nanocoder):
    """Return what starts the command with a script of turns."""
    processes, servers = [], []

    def start(*turns, words=(), stdin=subprocess.DEVNULL, descriptors=1_024):
        limited = f'ulimit -n {descriptors}; exec "$0" "$@"'
        process = subprocess.Popen(
            ["sh", "-c", limited, COMMAND, "web", "--model", nanocoder.script(*turns), *words],
            cwd=nanocoder.cwd,
            env=nanocoder.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        servers.append(Web(process))
        return servers[-1]

    yield start
    for server in servers:
        server.client.close()
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
