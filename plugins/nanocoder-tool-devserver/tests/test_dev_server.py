"""How servers start, what is told of them, and that nothing of them stays."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import nanocoder_tool_devserver
import pytest
from nanocoder import BadArguments, Cancel, Cancelled, ToolError
from nanocoder_testing import opened
from nanocoder_testing.playing import called
from nanocoder_tool_devserver import Settings, dev_server, nanocoder_render
from nanocoder_tool_devserver.servers import MAX_SERVERS, Servers, is_listening

SERVE = f"exec {sys.executable} -m http.server --bind 127.0.0.1 {{}}"
pytestmark = pytest.mark.timeout(30)


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def run(ctx):
    servers = Servers()
    ctx.resource = lambda _: servers
    ctx.settings = Settings(quiet_s=0.3)

    def act(action, **more):
        return dev_server.invoke(ctx, dev_server.signature.check({"action": action, **more}))

    yield act
    servers.close()


def refusal(run, action, **more):
    with pytest.raises(ToolError) as caught:
        run(action, **more)
    return caught.value


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, seconds=30):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def number_in(path):
    """Return the number that a process is about to write into a file."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


@pytest.mark.contract("MA-90")
@pytest.mark.contract("MA-91")
def test_a_server_starts_and_is_ready_when_it_listens(run, port):
    result = run("start", command=SERVE.format(port), port=port)
    assert result.output.startswith(f"The server runs as server-1 and listens on port {port}.")
    assert result.data["is_ready"]
    assert is_listening(port)


@pytest.mark.contract("MA-92")
def test_stopping_ends_it_with_all_that_came_from_it(run, ctx, port):
    root = ctx.working_directory
    deaf = "trap '' TERM; echo $$ > shell; (setsid sleep 1000 & echo $! > escaped)"
    run("start", command=f"{deaf}; {SERVE[5:].format(port)} & wait", port=port)
    pids = [number_in(root / name) for name in ("shell", "escaped")]
    assert all(map(is_alive, pids))
    assert run("stop", id="server-1").output == "server-1 and all of its processes were stopped."
    assert not any(map(is_alive, pids))
    assert not is_listening(port)
    assert refusal(run, "stop", id="server-1").error_class == "unknown_server"


@pytest.mark.contract("MA-93")
def test_the_status_has_uptime_port_and_output(run, port):
    run("start", command="echo ready; sleep 1000")
    run("start", command=SERVE.format(port), port=port)
    result = run("status")
    first, log, second, *_ = result.output.splitlines()
    assert re.fullmatch(r"server-1: running, \d s: echo ready; sleep 1000", first)
    assert log == "  ready"
    assert re.match(rf"server-2: running, \d s, port {port} \(listening\): ", second)
    assert [server["exit_code"] for server in result.data["servers"]] == [None, None]
    assert run("status", id="server-1").output.splitlines()[1:] == [log]


def test_without_a_server_the_status_says_so(run):
    assert run("status").output == "No server was started."


def test_a_server_that_ended_later_stays_in_the_status_with_its_code(run, ctx):
    run("start", command="echo going; while [ ! -e stop ]; do sleep 0.05; done; exit 7")
    (ctx.working_directory / "stop").touch()
    wait_until(lambda: "ended with exit code 7" in run("status").output)
    assert run("stop", id="server-1").output == "server-1 had ended already."


@pytest.mark.contract("MA-90")
@pytest.mark.contract("MA-94")
def test_a_port_is_checked(run, port):
    assert run("check_port", port=port).output == f"Port {port} is free."
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        number = listener.getsockname()[1]
        result = run("check_port", port=number)
        assert result.output == f"Something listens on port {number}."
        assert result.data == {"port": number, "in_use": True}
        error = refusal(run, "start", command="true", port=number)
    assert error.error_class == "port_in_use"


@pytest.mark.parametrize(
    ("command", "code", "output"), [("echo no >&2; exit 3", 3, "no"), ("kill -9 $$", 137, "")]
)
def test_a_command_that_ends_at_once_is_an_error_with_its_output(run, command, code, output):
    result = run("start", command=command)
    assert result.error_class == "server_ended"
    assert result.output == f"The server ended at once with exit code {code}.\n{output}".rstrip()
    assert run("status").output == "No server was started."


def test_a_server_that_does_not_listen_in_time_goes_on(run, ctx, port):
    ctx.settings = Settings(ready_s=0.3)
    result = run("start", command="sleep 1000", port=port)
    assert "nothing listens" in result.output
    assert not result.data["is_ready"]
    assert "running" in run("status").output


def test_a_server_has_an_environment_of_its_own_and_no_input(run, port, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "SECRET")
    command = 'echo "port=$PORT key=$ACME_API_KEY"; cat; sleep 1000'
    run("start", command=command)
    wait_until(lambda: "port= key=\n" in run("status", id="server-1").output + "\n")


def test_a_flood_of_output_is_kept_at_its_end(run):
    run("start", command="yes xxxxxxxxx | head -c 3000000; echo last; sleep 1000")
    wait_until(lambda: run("status").output.endswith("last"))


def test_the_sandbox_runs_the_server(run, ctx):
    ctx._wrap = lambda argv, _ports: ["/usr/bin/env", "INSIDE=yes", *argv]
    run("start", command="echo inside=$INSIDE; sleep 1000")
    wait_until(lambda: "inside=yes" in run("status").output)


def test_a_shell_that_cannot_be_started_says_so(run, ctx):
    ctx._wrap = lambda argv, _ports: ["/no/such/sandbox", *argv]
    result = run("start", command="true")
    assert result.error_class == "server_ended"
    assert "/no/such/sandbox: No such file" in result.output


def test_an_interrupt_while_it_starts_ends_it(run, ctx, port):
    import threading

    ctx.cancelled = Cancel()
    file = ctx.working_directory / "pid"
    interrupt = threading.Thread(target=lambda: ctx.cancelled.set(str(number_in(file))))
    interrupt.start()
    with pytest.raises(Cancelled):
        run("start", command="echo $$ > pid; sleep 1000", port=port)
    interrupt.join()
    assert not is_alive(number_in(file))
    assert run("status").output == "No server was started."


@pytest.mark.parametrize(
    ("action", "missing"), [("start", "command"), ("stop", "id"), ("check_port", "port")]
)
def test_what_an_action_needs_is_named(run, action, missing):
    assert str(refusal(run, action)) == f"{action} needs '{missing}'"


@pytest.mark.contract("MA-90")
@pytest.mark.parametrize("arguments", [{"action": "restart"}, {"action": "start", "port": 65_536}])
def test_odd_arguments_are_refused(arguments):
    with pytest.raises(BadArguments):
        dev_server.signature.check(arguments)
    assert dev_server.risk == "medium"


def test_there_is_a_limit(run):
    for _ in range(MAX_SERVERS):
        run("start", command="sleep 1000")
    assert refusal(run, "start", command="sleep 1000").error_class == "too_many_servers"


@pytest.mark.contract("MA-96")
def test_all_servers_end_with_the_session(tmp_path, port):
    cwd = tmp_path / "work"
    cwd.mkdir()
    with opened(cwd, plugins=[nanocoder_tool_devserver], mode="auto", approve=yes) as (session, _):
        for name in ("one", "two"):
            arguments = {"action": "start", "command": f"echo $$ > {name}; sleep 1000"}
            result, _ = called(session, "dev_server", arguments)
            assert not result.is_error
        pids = [number_in(cwd / name) for name in ("one", "two")]
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))


CRASH = """
import os, sys
from nanocoder_testing.playing import called, opened
import nanocoder_tool_devserver
from nanocoder import ApprovalAnswer
yes = lambda request: ApprovalAnswer(request.id, request.digest, approved=True)
with opened(".", plugins=[nanocoder_tool_devserver], mode="auto", approve=yes) as (session, _):
    deaf = "trap '' TERM INT HUP; echo $$ > pid; (setsid sleep 1000 & echo $! > escaped)"
    called(session, "dev_server", {"action": "start", "command": f"{deaf}; sleep 1000"})
    print("started", flush=True)
    sys.stdin.read()
"""


@pytest.mark.contract("MA-95")
@pytest.mark.contract("MA-96")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_crash_of_nanocoder_leaves_no_server(tmp_path, number):
    with subprocess.Popen(
        [sys.executable, "-c", CRASH],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))},
    ) as process:
        assert process.stdout.readline() == b"started\n"
        pids = [number_in(tmp_path / name) for name in ("pid", "escaped")]
        assert all(map(is_alive, pids))
        process.send_signal(number)
        process.wait()
    wait_until(lambda: not any(map(is_alive, pids)))


def test_the_preview_is_the_command(tmp_path):
    from nanocoder import SessionInfo, ToolCall

    session = SessionInfo("s", tmp_path)
    start = ToolCall("1", "dev_server", {"action": "start", "command": "make run"})
    assert nanocoder_render(start, None, session) == f"make run\n(in the background, in {tmp_path})"
    assert (
        nanocoder_render(ToolCall("1", "dev_server", {"action": "status"}), None, session) is None
    )
    for action, name in (("start", "command"), ("stop", "id"), ("check_port", "port")):
        with pytest.raises(ToolError, match=f"{action} needs '{name}'"):
            nanocoder_render(ToolCall("1", "dev_server", {"action": action}), None, session)


def yes(request):
    from nanocoder import ApprovalAnswer

    return ApprovalAnswer(request.id, request.digest, approved=True)


def test_no_project_hands_on_secrets():
    (environment,) = [field for field in Settings.__attrs_attrs__ if field.name == "environment"]
    assert environment.metadata["user_only"]
