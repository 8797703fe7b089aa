"""An ephemeral session works like any other, and nothing of it is left afterwards."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import nanocoder_store_memory
import pytest
from nanocoder import Effect, ToolContext, UsageError, tool
from nanocoder_kit_sessions.rewinding import RewindRequest, rewind
from nanocoder_kit_sessions.undo import UndoRequest, undo
from nanocoder_store_memory.sessions import MemorySessions
from nanocoder_testing import Tools, opened
from nanocoder_testing.playing import agree, called

SECRET = "the bank's number is 1234"
LONG = "x" * 200_000


@tool(effects={Effect.READ})
def speak() -> str:
    """Return a text that is too long for the model."""
    return LONG


@tool(effects={Effect.READ, Effect.WRITE})
def write(ctx: ToolContext, text: str) -> str:
    """Write a file."""
    ctx.workspace.write_text("note.txt", text)
    return "written"


@tool(effects={Effect.READ}, composed_of=["*"])
def delegate(ctx: ToolContext) -> str:
    """Let a sub-agent do it."""
    with ctx.child() as child:
        for _ in child.run("do it"):
            pass
        return str(child.info.outputs)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the directory for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def open_ephemeral(tmp_path):
    """Open ephemeral sessions in the folder `work`."""
    (tmp_path / "work").mkdir()
    environment = {"HOME": str(tmp_path / "home"), "NANOCODER_STORE": "memory"}
    plugins = {"tools": Tools(speak, write, delegate), "memory": nanocoder_store_memory}

    def open_it(*turns, **options):
        options = {"mode": "auto", "approve": agree, **options}
        return opened(
            tmp_path / "work",
            turns,
            plugins=plugins,
            persist=True,
            environment=environment,
            **options,
        )

    return open_it


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.contract("NT-58")
def test_nothing_is_left_of_an_ephemeral_session(open_ephemeral, tmp_path, temporary):
    with open_ephemeral([("write", {"text": SECRET}), ("speak", {})], "Done.") as (session, _):
        list(session.run(SECRET))
        assert session.info.folder is None, "plugins keep nothing for later"
        assert any(SECRET in path.read_text() for path in files_below(tmp_path / "work"))
    assert files_below(tmp_path / "home") == []
    assert list(temporary.iterdir()) == []


@pytest.mark.contract("NT-58")
@pytest.mark.timeout(60)
def test_the_command_line_keeps_nothing_either(nanocoder, tmp_path):
    (tmp_path / "temporary").mkdir()
    place = {"TMPDIR": str(tmp_path / "temporary")}
    call = {"name": "write_file", "arguments": {"path": "a.txt", "content": "hello\n"}}
    model = nanocoder.script({"calls": [call]}, {"text": "Done."})
    done = nanocoder("run", "--ephemeral", "--mode", "edits", "--model", model, SECRET, env=place)
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert (nanocoder.cwd / "a.txt").read_text() == "hello\n"
    assert "There is no session" in nanocoder("sessions", "list").stdout
    kept = [path for path in files_below(nanocoder.home) if SECRET.encode() in path.read_bytes()]
    assert kept == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["run", "--ephemeral", "--continue", "x"], 2, "not allowed with argument --ephemeral"),
        (["run", "--session", "last", "x"], 2, 'no session is kept here (store = "memory")'),
        (["sessions", "show"], 2, 'no session is kept here (store = "memory")'),
        (["sessions", "search", "x"], 1, "sessions are only in memory here"),
    ],
)
def test_what_is_not_kept_cannot_be_continued(nanocoder, words, code, says):
    done = nanocoder(*words, env={"NANOCODER_STORE": "memory"})
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_its_changes_are_undone_while_it_runs(open_ephemeral, tmp_path, temporary):
    turns = [[("write", {"text": "one"})], "Done.", [("write", {"text": "two"})], "Done."]
    with open_ephemeral(*turns) as (session, _):
        list(session.run("first"))
        list(session.run("second"))
        host = SimpleNamespace(plugins=session.plugins)
        undone = undo(host, session, UndoRequest(), lambda _line: None, lambda: True)
        assert undone.files == ["note.txt"]
        assert (tmp_path / "work/note.txt").read_text() == "one"
        rewind(host, session, RewindRequest(2), lambda _line: None, lambda: True)
        assert [message.text for message in session.messages if message.role == "user"] == ["first"]
    assert list(temporary.iterdir()) == []


def test_long_outputs_lie_in_a_private_folder_until_its_end(open_ephemeral, temporary):
    with open_ephemeral() as (session, _):
        result, _ = called(session, "speak", {})
        assert Path(result.artifact).read_text() == LONG
        (folder,) = temporary.iterdir()
        assert Path(result.artifact).is_relative_to(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_the_files_of_sub_agents_go_with_the_session(open_ephemeral, temporary):
    with open_ephemeral([("speak", {})], "Done.") as (session, _):
        outputs = Path(called(session, "delegate", {})[0].output)
        (folder,) = temporary.iterdir()
        assert outputs.is_relative_to(folder)
        assert outputs != session.info.outputs
        assert [path.read_text() for path in files_below(outputs)] == [LONG]
    assert not folder.exists()


KILLED = """
import os, signal, sys, tempfile
from pathlib import Path
tempfile.tempdir = sys.argv[1]
from nanocoder_store_memory.sessions import MemorySessions
journal = MemorySessions().start(Path("/"), "m/x", "ask")
journal.output("secret", b"secret")
print(journal.id, flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


@pytest.mark.timeout(60)
def test_the_next_session_deletes_what_a_killed_one_left_and_nothing_else(temporary, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (temporary / "nanocoder-session-link").symlink_to(tmp_path / "elsewhere")
    (temporary / "nanocoder-session-file").touch()
    command = [sys.executable, "-c", KILLED, str(temporary)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "live"], **streams) as living:
        assert living.stdout.readline()
        (alive,) = (path for path in temporary.iterdir() if path.is_dir() and not path.is_symlink())
        killed = subprocess.run([*command, "kill"], check=False, capture_output=True)
        assert killed.returncode == -signal.SIGKILL
        assert len(files_below(temporary)) == 3
        journal = MemorySessions().start(tmp_path, "m/x", "ask")
        assert files_below(alive)
        left = {path.name for path in temporary.iterdir()} - {
            alive.name,
            journal.outputs.parent.name,
        }
        assert left == {"nanocoder-session-link", "nanocoder-session-file"}
        journal.close()
        living.communicate("")
    assert (tmp_path / "elsewhere").is_dir()


def test_without_a_place_for_files_it_works_and_says_what_is_missing(open_ephemeral, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    lines = []
    with open_ephemeral("Done.", warn=lines.append) as (session, _):
        list(session.run("hello"))
        result, _ = called(session, "speak", {})
        assert (result.artifact, session.info.outputs) == ("", None)
        host = SimpleNamespace(plugins=session.plugins)
        with pytest.raises(UsageError, match="this session is not kept"):
            undo(host, session, UndoRequest(), lambda _line: None, lambda: True)
    (line,) = lines
    assert "temporary files cannot be written" in line


@pytest.mark.parametrize("name", ["last", "20261123-064834-2vye", ""])
def test_no_session_is_found(name):
    for attempt in (MemorySessions().find, MemorySessions().resume):
        with pytest.raises(UsageError) as caught:
            attempt(name)
        assert caught.value.error_class == "session_not_found"


def test_closing_twice_does_no_harm(temporary, tmp_path):
    journal = MemorySessions().start(tmp_path, "m/x", "ask")
    journal.close()
    other = MemorySessions().start(tmp_path, "m/x", "ask")
    journal.close()
    assert len(os.listdir(temporary)) == 1
    other.close()
