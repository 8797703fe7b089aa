"""The commands of a session share a network of their own, and layers over a person's caches."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from nanocoder import Access
from nanocoder_kit_llm.net.testing import PageServer
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_killed import SESSION, await_path
from sandboxed_place import PYTHON, inside  # noqa: F401

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E3")]
SERVE = (
    "import http.server as h; s = h.HTTPServer(('127.0.0.1', {port}), h.SimpleHTTPRequestHandler);"
    " open('/tmp/ready', 'w'); s.serve_forever()"
)
PORT = 8_123
FETCH = f"curl -sS -m 5 http://127.0.0.1:{PORT}/page"


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


@contextmanager
def serving(place, opened, access=Access.WRITE):
    """Run a server in the background, as a call does."""
    (place.workspace / "page").write_text("hello")
    argv = opened.wrap([*PYTHON.split(), SERVE.format(port=PORT)], (), access)
    process = subprocess.Popen(
        argv, cwd=place.workspace, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await_path(opened._files.tmp / "ready")
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_a_server_in_the_background_is_reached_by_the_next_command(inside, access):  # noqa: F811
    opened = inside.open()
    with serving(inside, opened, access):
        for later in (Access.WRITE, Access.READ):
            done = inside.start(opened.wrap(["/bin/sh", "-c", FETCH], (), later))
            assert (done.stdout, done.stderr) == ("hello", "")


def test_no_process_of_a_session_stays_after_it(inside):  # noqa: F811
    opened = inside.open(Settings(hosts=("example.org",)))
    assert inside.start(opened.wrap(["/bin/true"], ())).returncode == 0
    socket_path = os.fsencode(opened._files.socket)
    assert any(socket_path in line for line in command_lines())
    inside.close()
    until = time.monotonic() + 10
    while any(socket_path in line for line in command_lines()):
        assert time.monotonic() < until
        time.sleep(0.05)


def command_lines():
    """Yield the argv of each process of this machine, its words ended by NUL bytes."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes()


def test_the_server_of_one_session_is_reached_by_no_other_and_not_from_outside(inside):  # noqa: F811
    with serving(inside, inside.open()):
        assert inside.run(FETCH).stdout == ""
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", PORT), 1)


def test_commands_run_where_no_namespace_can_be_joined(inside, monkeypatch):  # noqa: F811
    from nanocoder_sandbox_bwrap import namespaces

    monkeypatch.setattr(namespaces, "_find", lambda _name: "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = inside.run(f"echo x > new; cat new; curl -sS -m 2 http://127.0.0.1:{port}/")
    assert done.stdout == "x\n"
    assert "curl: (7)" in done.stderr


def test_what_holds_the_namespaces_ends_with_the_session(inside):  # noqa: F811
    opened = inside.open()
    assert not holders(opened._files.layers)  # none before the first command
    inside.start(opened.wrap(["/bin/true"], ()))
    first = holders(opened._files.layers)
    inside.start(opened.wrap(["/bin/true"], ()))
    assert holders(opened._files.layers) == first != []
    inside.close()
    assert not holders(opened._files.layers)


def test_what_holds_the_namespaces_ends_with_a_session_that_is_killed(inside):  # noqa: F811
    argv = [sys.executable, "-c", SESSION, Bubblewrap.__module__, Bubblewrap.__qualname__]
    environ = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    command = "touch armed; sleep 60"
    session = subprocess.Popen([*argv, str(inside.workspace), command], env=environ)
    await_path(inside.workspace / "armed")
    assert holders(tempfile.gettempdir())
    session.send_signal(signal.SIGKILL)
    session.wait()
    until = time.monotonic() + 20
    while holders(tempfile.gettempdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not holders(tempfile.gettempdir())
    assert {path.name for path in inside.workspace.iterdir()} == {
        ".env",
        ".git",
        "armed",
        "private",
    }


def test_a_command_after_the_holder_was_killed_starts(inside):  # noqa: F811
    opened = inside.open()
    inside.start(opened.wrap(["/bin/true"], ()))
    for pid in holders(opened._files.layers):
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)
    done = inside.start(opened.wrap(["/bin/echo", "started"], (), Access.READ))
    assert (done.stdout, done.stderr) == ("started\n", "")


def holders(path):
    """Return the processes of bubblewrap that have a layer below *path*."""
    argv = ["ps", "axww", "-o", "pid,args"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True)
    rows = (line.split(None, 1) for line in listed.stdout.splitlines())
    return [int(pid) for pid, line in rows if "--size" in line and str(path) in line]


CACHES = {
    ".cache": "$HOME/.cache",
    ".npm": "$HOME/.npm",
    ".cargo": "$HOME/.cargo",
    "go": "$HOME/go",
    ".gradle": "$HOME/.gradle",
    ".m2": "$HOME/.m2",
}


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_a_cache_is_read_and_what_is_written_there_stays_in_the_session(inside, access):  # noqa: F811
    for name in CACHES:
        (inside.home / name).mkdir()
        (inside.home / name / "warm").write_text(name)
    opened = inside.open()
    write = "; ".join(f"cat {path}/warm && echo x > {path}/new" for path in CACHES.values())
    done = inside.start(opened.wrap(["/bin/sh", "-c", write], (), access))
    assert (done.stdout, done.stderr) == ("".join(CACHES), "")
    read = f"cat {' '.join(f'{path}/new' for path in CACHES.values())}"
    assert inside.start(opened.wrap(["/bin/sh", "-c", read], (), access)).stdout == "x\n" * 6
    assert opened.changes() == []
    for name in CACHES:
        assert [path.name for path in (inside.home / name).iterdir()] == ["warm"]


def test_a_cache_that_is_not_there_is_in_the_sessions_tmp(inside):  # noqa: F811
    command = "echo $XDG_CACHE_HOME $npm_config_cache $CARGO_HOME $GOPATH; mkdir ~/.cache"
    done = inside.run(command)
    assert done.stdout == "/tmp/.cache /tmp/.npm /tmp/.cargo /tmp/go\n"
    assert "Read-only file system" in done.stderr


def test_credentials_in_a_cache_stay_hidden(inside):  # noqa: F811
    (inside.home / ".cargo").mkdir()
    (inside.home / ".cargo/credentials.toml").write_text("SECRET-7f3a")
    done = inside.run("cat ~/.cargo/credentials.toml; mv ~/.cargo ~/c; cat ~/c/*")
    assert "SECRET-7f3a" not in done.stdout + done.stderr


def test_a_workspace_in_a_cache_can_be_changed(inside, box):  # noqa: F811
    from nanocoder import SessionInfo

    workspace = inside.home / "go/src/project"
    workspace.mkdir(parents=True)
    opened = box(SessionInfo("s", workspace), Settings())
    for access in (Access.WRITE, Access.READ):
        argv = opened.wrap(["/bin/sh", "-c", f"echo x > {access}; ls"], (), access)
        done = subprocess.run(argv, cwd=workspace, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert str(access) in done.stdout.split()
    opened.close()
    assert [path.name for path in workspace.iterdir()] == ["write"]


def test_commands_at_the_same_time_reach_an_allowed_host(inside):  # noqa: F811
    with PageServer() as pages:
        settings = Settings(hosts=(f"localhost:{pages.port}",), addresses=("loopback",))
        opened = inside.open(settings)
        fetch = f"curl -sS -m 10 --noproxy '' http://localhost:{pages.port}/"
        argv = opened.wrap(["/bin/sh", "-c", f"echo ready; read -r go; {fetch}"], ())
        with subprocess.Popen(
            argv, cwd=inside.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as first:
            first.stdout.readline()
            done = inside.start(opened.wrap(["/bin/sh", "-c", fetch], (), Access.READ))
            assert done.stdout == "CANARY-ssrf", done.stderr
            assert first.communicate(b"\n")[0] == b"CANARY-ssrf"


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_with_the_network_everything_is_reached(inside, access):  # noqa: F811
    with PageServer() as pages:
        opened = inside.open(Settings(network=True))
        fetch = f"echo x > new; curl -sS -m 10 http://127.0.0.1:{pages.port}/"
        done = inside.start(opened.wrap(["/bin/sh", "-c", fetch], (), access))
        assert done.stdout == "CANARY-ssrf", done.stderr
    assert (inside.workspace / "new").exists() == (access is Access.WRITE)
