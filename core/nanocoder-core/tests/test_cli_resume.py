"""A whole run is killed at random moments; `--continue` goes on where it stopped."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("nanocoder"))
KILLS = 20
LONGEST_S = 0.6  # a whole run takes about as long
FILES = 6


def turns():
    """Write files one by one, each read afterwards; say so, also when asked once more."""
    for number in range(FILES):
        path = f"file{number}.txt"
        written = {"path": path, "content": f"{number}\n" * 1000}
        yield {"text": f"writing {path}", "calls": [{"name": "write_file", "arguments": written}]}
        yield {"calls": [{"name": "read_file", "arguments": {"path": path}}], "delay_s": 0.02}
    yield from [{"text": "All six are written."}] * 2


KILLED = """
import os, signal, sys
fsync = os.fsync

def killing(descriptor):
    if "/work/src/" in os.readlink(f"/proc/self/fd/{descriptor}"):
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(descriptor)

os.fsync = killing
from nanocoder.cli import main
main()
"""


def test_any_later_session_in_the_folder_removes_what_a_killed_write_left(nanocoder):
    (nanocoder.cwd / "src").mkdir()
    (nanocoder.cwd / "src/a.txt").write_text("old\n")
    arguments = json.dumps({"path": "src/a.txt", "content": "new\n"})
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "call", "--mode", "auto", "write_file", arguments],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list((nanocoder.cwd / "src").iterdir())) == 2
    assert nanocoder("call", "read_file", '{"path": "src/a.txt"}').returncode == 0
    assert [path.name for path in (nanocoder.cwd / "src").iterdir()] == ["a.txt"]
    assert (nanocoder.cwd / "src/a.txt").read_text() == "old\n"
    assert not (nanocoder.home / ".local/state/nanocoder/change-logs").exists()


def test_an_undo_that_is_repeated_removes_what_the_killed_one_left(nanocoder):
    (nanocoder.cwd / "src").mkdir()
    (nanocoder.cwd / "src/a.txt").write_text("old\n")
    calls = [
        {"name": "read_file", "arguments": {"path": "src/a.txt"}},
        {"name": "write_file", "arguments": {"path": "src/a.txt", "content": "new\n"}},
    ]
    model = nanocoder.script(*({"calls": [call]} for call in calls), {"text": "Done."})
    assert nanocoder("run", "--mode", "auto", "--model", model, "go").returncode == 0
    undo = ["sessions", "undo", "last", "--yes"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *undo],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list((nanocoder.cwd / "src").iterdir())) == 2
    assert nanocoder(*undo).returncode == 0
    assert [path.name for path in (nanocoder.cwd / "src").iterdir()] == ["a.txt"]
    assert (nanocoder.cwd / "src/a.txt").read_text() == "old\n"


@pytest.mark.contract("NT-55")
@pytest.mark.rows(4)
@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_run_is_continued_and_loses_nothing(nanocoder, kill):
    words = ["run", "--mode", "auto", "--model", nanocoder.script(*turns())]
    process = subprocess.Popen(
        [COMMAND, *words, "Write six files."],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(random.Random(kill).uniform(0.05, LONGEST_S))
    process.kill()
    process.wait()
    assert_that_it_can_be_continued(nanocoder, nanocoder.cwd, words)


def assert_that_it_can_be_continued(nanocoder, workspace, words):
    begun = json.loads(nanocoder("sessions", "list", "--output", "json", cwd=workspace).stdout)
    more = ["--continue"] if begun else []
    done = nanocoder(*words, *more, "Go on.", cwd=workspace)
    assert done.returncode == 0, done.stderr
    shown = json.loads(nanocoder("sessions", "show", "--output", "json", cwd=workspace).stdout)
    messages = shown["messages"]
    assert messages[-1]["text"] == "All six are written."
    calls = [call for one in messages for call in one.get("calls", ())]
    results = [one for message in messages for one in message.get("results", ())]
    assert [one["call_id"] for one in results] == [call["id"] for call in calls]
    cut = [one for one in results if one.get("error_class") == "interrupted"]
    assert len(cut) <= 1, "only the call that the kill hit may be lost, and the model is told"
    for call, result in zip(calls, results, strict=True):
        path = workspace / call["arguments"]["path"]
        if result in cut or call["name"] != "write_file":
            continue
        assert not result.get("is_error")
        assert path.read_text() == call["arguments"]["content"]
    assert not [path for path in workspace.iterdir() if not path.name.startswith("file")]
