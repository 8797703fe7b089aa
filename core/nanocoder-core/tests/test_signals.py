"""Signals end a command by their number, wherever they meet it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import plugin_in

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("heeded")]
COMMAND = str(Path(sys.executable).with_name("nanocoder"))
READ = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
LATE = {"text": "late", "delay_s": 90}
SLEEP = '{"command": "echo $$ > pid; exec sleep 90"}'
EVENTS_BEFORE_THE_WAIT = 14
"""Of a run that reads a file: from session.started to the request that is never answered."""


@pytest.fixture
def heeded():
    """Heed SIGHUP: what nohup has set, and we inherited, the child would inherit, too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def start(nanocoder):
    """Start a command that is killed at the end at the latest."""
    (nanocoder.cwd / "a.txt").write_text("x")
    started = []

    def begin(*words, **more):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        process = subprocess.Popen(
            [COMMAND, *words],
            cwd=nanocoder.cwd,
            text=True,
            **({"env": nanocoder.environment} | streams | more),
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def ended_by(process):
    """Return the code that a shell reports."""
    code = process.wait()
    return 128 - code if code < 0 else code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_names_the_signal_and_exits_by_its_number(start, nanocoder, number):
    process = start("run", "--output", "jsonl", "--model", nanocoder.script(READ, LATE), "go")
    for line in process.stdout:
        if json.loads(line)["type"] == "request.started":
            process.send_signal(number)
            break
    *_, last = process.stdout
    report = json.loads(last)
    assert (report["stop_reason"], report["signal"]) == ("interrupted", number)
    assert ended_by(process) == 128 + number


@pytest.mark.rows(4)
@pytest.mark.parametrize("place", range(1, EVENTS_BEFORE_THE_WAIT + 1))
def test_a_signal_at_any_event_of_a_run_ends_it(start, nanocoder, place):
    words = ("run", "--output", "jsonl", "--model", nanocoder.script(READ, LATE), "go")
    process = start(*words)
    for count, _ in enumerate(process.stdout, 1):
        if count == place:
            process.send_signal(signal.SIGTERM)
    assert ended_by(process) == 143


@pytest.mark.rows(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_at_any_moment_of_the_start_ends_the_run(start, nanocoder, number):
    script = nanocoder.script(LATE)
    for hundredths in range(0, 60, 6):
        process = start("run", "--model", script, "go", stderr=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01 + hundredths / 100)
        process.send_signal(number)
        _, said = process.communicate()
        assert "bug" not in said
        if number == signal.SIGINT and process.returncode == 1:
            assert "Python runtime state" in said or "<frozen site>" in said  # none of ours ran yet
            continue
        assert ended_by(process) == 128 + number, said


def test_a_call_that_is_stopped_exits_by_the_number_of_the_signal(start, nanocoder):
    process = start("call", "bash", SLEEP, "--mode", "auto")
    while not (nanocoder.cwd / "pid").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert ended_by(process) == 143


IN_THE_LOCK = """
import os, signal, sys, threading
from nanocoder import cancel
from nanocoder.cli import main

class Lock:
    "A lock of a `Cancel`; each time that the main thread holds one of them, a signal comes."
    def __init__(self):
        self._lock = threading.Lock()
    def __enter__(self):
        self._lock.acquire()
        if threading.current_thread() is threading.main_thread() and sys._signals:
            os.kill(os.getpid(), sys._signals.pop())
    def __exit__(self, *_):
        self._lock.release()

class Threading:
    Lock, Event, Thread = Lock, threading.Event, threading.Thread

sys._signals = [signal.SIGTERM]
cancel.threading = Threading
sys.argv = ["nanocoder", *sys.argv[1:]]
main()
"""


def test_a_signal_that_meets_the_main_thread_inside_a_lock_is_obeyed(start, nanocoder, tmp_path):
    program = tmp_path / "in_the_lock.py"
    program.write_text(IN_THE_LOCK)
    (nanocoder.cwd / "a.txt").write_text("x")
    words = ("run", "--model", nanocoder.script(READ, LATE), "go")
    process = subprocess.run(
        [sys.executable, str(program), *words],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode in {143, -signal.SIGTERM}, process.stderr


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize(
    "words",
    [("--session", "nix", "hi"), ("--model", "nothing/x", "hi"), ("--mode", "ask", " ")],
)
def test_a_run_that_cannot_begin_prints_its_object_too(nanocoder, form, words):
    done = nanocoder("run", "--output", form, *words)
    assert done.returncode == 2
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["stop_reason"] == "failed"
    assert report["error"]["class"] in {"session_not_found", "usage"}
    assert report["error"]["message"] in done.stderr


def test_a_wrong_configuration_prints_the_object_too(nanocoder):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max_turns = 'x'\n")
    done = nanocoder("run", "--output", "json", "hi")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["class"] == "configuration"


@pytest.mark.parametrize("command", ["run --model scripted/x hi", "tools", "call glob '{}'"])
def test_a_closed_standard_output_is_an_error_and_no_silence(nanocoder, command):
    done = nanocoder("-c", f"{COMMAND} {command} >&-", command="bash")
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr


HANGS = """
import os, time
from nanocoder import hookimpl
if "HANGS" in os.environ:
    open("importing", "w").close()
    time.sleep(90)

@hookimpl
def nanocoder_prompt(session):
    return None
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_start_in_which_a_plugin_hangs_and_names_it(
    start, nanocoder, tmp_path, number
):
    site = {**nanocoder.environment, **plugin_in(tmp_path / "site", "acme-hangs", HANGS)}
    assert start("tools", env=site).wait() == 0
    words = ("run", "--model", nanocoder.script(READ), "go")
    process = start(*words, env={**site, "HANGS": "1"}, stderr=subprocess.PIPE)
    while not (nanocoder.cwd / "importing").exists():
        assert process.poll() is None
    process.send_signal(number)
    _, printed = process.communicate()
    assert ended_by(process) == 128 + number
    assert printed == "nanocoder: interrupted while plugin 'acme-hangs' was imported\n"
