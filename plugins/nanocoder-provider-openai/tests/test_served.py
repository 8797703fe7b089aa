"""A server of one's own, an address and no model: what is taken, and what is said."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
def serve():
    """Return a function that serves a list of models and returns the server's address."""
    servers = []

    def start(*names):
        class Models(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps({"data": [{"id": name} for name in names]}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Models)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def nanocoder(tmp_path, address, *words, **more):
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **more}
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-P", "-m", "nanocoder", *words],
        env={**environment, "OPENAI_BASE_URL": address},
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )


def test_several_models_are_named_and_none_is_guessed(tmp_path, serve):
    address = serve("mock-small", "mock-large")
    process = nanocoder(tmp_path, address, "run", "hi")
    assert process.returncode == 4
    assert f"the server at {address} is there; name a model: --model openai/mock-large" in (
        process.stderr
    )
    listed = nanocoder(tmp_path, address, "models").stdout
    assert "name a model: --model openai/mock-large, openai/mock-small" in listed
    assert "No model is configured" not in listed


def test_the_only_model_is_the_default_with_and_without_a_key(tmp_path, serve):
    address = serve("just-one")
    for key in ({}, {"OPENAI_API_KEY": "none"}):
        rows = json.loads(nanocoder(tmp_path, address, "models", "--output", "json", **key).stdout)
        (row,) = (entry for entry in rows if entry["provider"] == "openai")
        assert (row["default"], row["status"]) == ("openai/just-one", "default")


def test_a_server_that_is_not_there_is_named(tmp_path):
    process = nanocoder(tmp_path, "http://127.0.0.1:9/v1", "run", "hi")
    assert process.returncode == 4
    assert "the server at http://127.0.0.1:9/v1 does not list its models" in process.stderr
