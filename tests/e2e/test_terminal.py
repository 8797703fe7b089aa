"""One conversation in a real terminal, from built wheels: asked, approved, answered, left."""

import json
import subprocess
import time

import pytest

pytestmark = [pytest.mark.timeout(300), pytest.mark.needs("tmux")]

DEADLINE_S = 120
COLUMNS, LINES = 80, 24
SCRIPT = {
    "turns": [
        {
            "text": "I add it.",
            "calls": [
                {
                    "name": "write_file",
                    "arguments": {"path": "greet.py", "content": "print('hi')\n"},
                }
            ],
        },
        {"text": "greet.py is there."},
    ]
}


class Terminal:
    """A tmux server of its own with one window."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *arguments):
        command = ["tmux", "-L", self.name, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def wait_for(self, text):
        """Return the screen once *text* is on it."""
        end = time.monotonic() + DEADLINE_S
        while text not in (screen := self("capture-pane", "-p")):
            assert time.monotonic() < end, f"{text!r} did not appear:\n{screen}"
            time.sleep(0.1)
        return screen


@pytest.fixture(scope="module")
def installed(make_installed):
    return make_installed("nanocoder-set-default")


@pytest.fixture
def terminal(installed, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "turns.json").write_text(json.dumps(SCRIPT))
    program = installed.python.with_name("nanocoder")
    command = f"{program} --model scripted/{tmp_path}/turns.json; echo left with $?; read line"
    environment = installed.environment() | {"PATH": "/usr/bin:/bin", "TERM": "screen"}
    words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    shell = [*words, "sh", "-c", f"cd {tmp_path}/project && {command}"]
    terminal = Terminal(f"nanocoder-{tmp_path.name}")
    terminal("new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), *shell)
    yield terminal
    terminal("kill-server")


def test_a_file_is_written_after_a_yes_in_a_real_terminal(terminal, tmp_path):
    terminal.wait_for("/help")
    terminal("send-keys", "Add a greeting", "Enter")
    screen = terminal.wait_for("Approve?")
    assert "greet.py" in screen
    assert "print('hi')" in screen
    assert not (tmp_path / "project/greet.py").exists()
    terminal("send-keys", "y", "Enter")
    terminal.wait_for("greet.py is there.")
    assert (tmp_path / "project/greet.py").read_text() == "print('hi')\n"
    terminal("send-keys", "C-d")
    terminal.wait_for("left with 0")
