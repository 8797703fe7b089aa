"""A recorded session plays again, and the first difference is named."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nanocoder import Message, ToolResult, encode_message
from nanocoder_kit_sessions import SessionStore
from nanocoder_provider_replay.recording import Recording, difference

TURNS = [
    {"calls": [{"name": "read_file", "arguments": {"path": "hello.py"}}]},
    {"calls": [{"name": "bash", "arguments": {"command": "pwd; python -c 'print(1)'"}}]},
    {"text": "It prints hello."},
]
RECORDING = '{"format": 1, "cwd": "", "profile": "full", "messages": [%s]}'
KEY = "sk-abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def home(tmp_path: Path, warm: Callable[[Path], None]) -> Path:
    (tmp_path / "home").mkdir()
    warm(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which a session has run that read a file with a key in it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "hello.py").write_text(f"print('hello')  # {KEY}\n")
    (folder / "turns.json").write_text(json.dumps({"turns": TURNS}))
    return folder


def nanocoder(home: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-P", "-m", "nanocoder", *words]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return subprocess.run(
        program,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def recorded(home: Path, folder: Path) -> Path:
    done = nanocoder(home, folder, "run", "--mode", "auto", "--model", "scripted/turns.json", "Go")
    assert done.returncode == 0, done.stderr
    done = nanocoder(home, folder, "sessions", "record")
    assert done.returncode == 0, done.stderr
    path = folder / "run.json"
    path.write_text(done.stdout)
    return path


def replay(home: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return nanocoder(home, folder, "run", "--mode", "auto", "--model", "replay/run.json", *words)


@pytest.mark.contract("G10")
def test_a_recording_plays_again_in_another_folder(home: Path, folder: Path) -> None:
    recorded(home, folder)
    other = folder.rename(folder.with_name("other"))
    done = replay(home, other, "Go")
    assert (done.returncode, done.stdout) == (0, "It prints hello.\n"), done.stderr


@pytest.mark.contract("NT-74")
def test_the_first_difference_is_named_with_a_diff(home: Path, folder: Path) -> None:
    recorded(home, folder)
    (folder / "hello.py").write_text("print('bye')\n")
    done = replay(home, folder, "Go")
    assert done.returncode == 4, done.stderr
    assert "before reply 2 this run is not the recorded one: result 1 of the calls" in done.stderr
    assert "+1\tprint('bye')" in done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("Something else",), "before reply 1 this run is not the recorded one: the request"),
        (("Go", "--resume"), "the recording has 3 replies only"),
    ],
)
def test_another_prompt_is_a_difference(
    words: tuple[str, ...], problem: str, home: Path, folder: Path
) -> None:
    recorded(home, folder)
    done = replay(home, folder, *words)
    assert done.returncode == 4
    assert problem in done.stderr


def test_no_secret_is_in_a_recording_and_its_session_still_plays(home: Path, folder: Path) -> None:
    text = recorded(home, folder).read_text()
    assert KEY not in text
    assert "[secret: " in text
    assert replay(home, folder, "Go").returncode == 0


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is not JSON"),
        ("{}", "make it with `nanocoder sessions record`"),
        ('{"format": 1, "cwd": "/w", "profile": "huge"}', "no profile that is full or small"),
        (RECORDING % "{}", "no role in message 1"),
        (
            RECORDING % '{"role": "tool", "results": 1}',
            "makes no sense in message 1",
        ),
    ],
)
def test_what_is_no_recording_is_refused(
    content: str | None, problem: str, home: Path, folder: Path
) -> None:
    if content is not None:
        (folder / "run.json").write_text(content)
    done = replay(home, folder, "Go")
    assert done.returncode == 4
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.contract("NT-96")
@pytest.mark.contract("W7")
def test_a_session_becomes_a_test_that_passes_and_can_fail(home: Path, folder: Path) -> None:
    recorded(home, folder)
    done = nanocoder(home, folder, "sessions", "to-test", "--tools")
    assert done.returncode == 0, done.stderr
    test = Path(done.stdout.strip())
    environment = os.environ | {"HOME": str(home)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    assert subprocess.run(command, cwd=folder, env=environment, check=False).returncode == 0
    assert (
        nanocoder(home, folder, "sessions", "to-test", "--tools").returncode == 2
    )  # nothing is replaced
    [named] = (test.parent / test.stem.removeprefix("test_")).glob("*.py")
    named.write_text("print('bye')\n")
    failed = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "before reply 2 this run is not the recorded one" in failed.stdout


def test_a_session_that_was_compacted_and_rewound_plays_again(home: Path, folder: Path) -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "a"}}]}
    recorded(home, folder)
    store = SessionStore.of_user({"HOME": str(home)})
    _, journal = store.open("last", cwd=folder)
    summary = encode_message(Message("user", "In short: nothing.", typed=""))
    journal.append("transcript.compacted", {"messages": [summary], "reason": "asked"})
    journal.close()
    some = {"text": "Some."}
    (folder / "turns.json").write_text(json.dumps({"turns": [some, write, {"text": "Written."}]}))
    words = ["--mode", "auto", "--model", "scripted/turns.json", "--resume", "last"]
    for prompt in ("More", "No"):
        done = nanocoder(home, folder, "run", *words, prompt)
        assert done.returncode == 0, done.stderr
    done = nanocoder(home, folder, "sessions", "rewind", "last", "--to", "3", "--conversation")
    assert done.returncode == 0, done.stderr
    assert store.transcript(journal.id).messages[-1].text.startswith("[the user went back")
    (folder / "turns.json").write_text(json.dumps({"turns": [some, {"text": "Better."}]}))
    done = nanocoder(home, folder, "run", *words, "Yes")
    assert done.returncode == 0, done.stderr
    done = nanocoder(home, folder, "sessions", "to-test", "--tools")
    assert done.returncode == 0, done.stderr
    test = done.stdout.strip()
    recording = json.loads(Path(test).with_name(f"{Path(test).stem[5:]}.json").read_text())
    prompts = [
        row["data"]["prompt"] for row in recording["records"] if row["kind"] == "run.started"
    ]
    assert prompts == ["Go", "More", "Yes"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    environment = os.environ | {"HOME": str(home)}
    assert subprocess.run(command, cwd=folder, env=environment, check=False).returncode == 0


@pytest.mark.parametrize(
    ("now", "is_same"),
    [
        ("in /new/place: 3 files in 12 ms, also /new/place/x", True),
        ("in /new/place: 4 files in 12 ms, also /new/place/x", False),
        ("in /new/place: 3 files in 12 ms, also /other/place/x", False),
    ],
)
def test_only_the_place_and_the_duration_may_differ(now: str, *, is_same: bool) -> None:
    then = "in /old: 3 files in 450 ms, also /old/x"
    messages = [{"role": "tool", "results": [{"output": then}]}, {"role": "assistant"}]
    recording = Recording("r", "/old", "full", messages)
    message = Message("tool", results=(ToolResult(now),))
    assert (difference(recording, 1, [message], ()) == "") is is_same
