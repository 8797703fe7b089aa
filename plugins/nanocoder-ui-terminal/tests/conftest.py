import json
import os
import sys
import termios
import time
from pathlib import Path

import pexpect
import pyte
import pytest
from terminals import ForkedTerminal

WAIT_S = 40
NANOCODER = (sys.executable, "-m", "nanocoder")


class Talk:
    """A program in a terminal that we type into and look at."""

    def __init__(self, words, cwd, env, rows=45, columns=100, program=()):
        self.raw = ""
        self._screen = pyte.HistoryScreen(columns, rows, history=5_000, ratio=0.5)
        self._lines = {}
        self._stream = pyte.Stream(self._screen)
        options = {"cwd": str(cwd), "env": env, "dimensions": (rows, columns)}
        if any(name.startswith("PYTHON") for name in env):  # they say how the process starts
            program = program or NANOCODER
        if program:
            self._child = pexpect.spawn(
                program[0], [*program[1:], *words], encoding="utf-8", **options
            )
        else:
            self._child = ForkedTerminal(words, **options)
        # A terminal answers when it is asked where the cursor is.
        self._screen.write_process_input = self._child.send

    @property
    def text(self):
        """All that is, or was, on the screen."""
        screen = self._screen
        for number in screen.dirty & {*range(screen.lines)}:  # the others are as they were
            self._lines[number] = self._text_of(screen.buffer[number])
        screen.dirty.clear()
        lines = [self._lines.get(number, "") for number in range(screen.lines)]
        return "\n".join([*map(self._text_of, screen.history.top), *lines]).rstrip()

    def _text_of(self, line):
        return "".join([line[x].data for x in range(self._screen.columns)] if line else ()).rstrip()

    def see(self, text, times=1):
        """Wait until *text* is on the screen."""
        deadline = time.monotonic() + WAIT_S
        while self.text.count(text) < times:
            if not self._read() or time.monotonic() > deadline:
                raise AssertionError(f"{text!r} did not appear; the screen shows:\n{self.text}")
        return self

    def ready(self):
        """Wait until the prompt takes keys: then it asks the terminal where the cursor is."""
        deadline = time.monotonic() + WAIT_S
        while "\x1b[6n" not in self.raw:
            assert self._read(), self.text
            assert time.monotonic() < deadline, self.text
        return self

    def look(self):
        """Take in what has been drawn."""
        self._read()
        return self

    def type(self, text):
        """Type *text* and Enter."""
        self._child.send(f"{text}\r")
        return self

    def press(self, keys):
        """Send *keys* as they are."""
        self._child.send(keys)
        return self

    def end(self):
        """Wait for the end and return the exit code."""
        deadline = time.monotonic() + WAIT_S
        while self._read():
            assert time.monotonic() < deadline, f"it goes on:\n{self.text}"
        self._child.wait()
        signalled = self._child.signalstatus
        return self._child.exitstatus if signalled is None else -signalled

    def goes_on(self):
        """Take in what has been drawn; tells whether the program goes on."""
        return self._read()

    def look_for(self, seconds):
        """Take in what is drawn within *seconds*."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._read():
            pass
        return self

    def touch(self, name):
        """Make a file in the directory that the program works in."""
        Path(str(self._child.cwd), name).touch()
        return self

    def signal(self, number):
        """Send a signal to the process."""
        self._child.kill(number)
        return self

    @property
    def pid(self):
        """The process that was started."""
        return self._child.pid

    def gathers_lines(self):
        """Return True if the terminal hands over whole lines only."""
        return bool(termios.tcgetattr(self._child.child_fd)[3] & termios.ICANON)

    def echoes(self):
        """Return True if the terminal shows what is typed."""
        return self._child.getecho()

    def shell_takes_over(self):
        """Set the terminal as a shell does after Ctrl-Z, and leaves it after `fg`."""
        mode = termios.tcgetattr(self._child.child_fd)
        mode[0] |= termios.ICRNL
        mode[3] |= termios.ECHO | termios.ICANON | termios.IEXTEN
        termios.tcsetattr(self._child.child_fd, termios.TCSANOW, mode)
        return self

    def close(self):
        self._child.close(force=True)

    def _read(self):
        try:
            piece = self._child.read_nonblocking(65_536, 0.1)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += piece
        self._stream.feed(piece)
        return True


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """Where the manifest of plugins is kept, so that only the first run describes them."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workspace(tmp_path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "hello.py").write_text("print('hello')\n")
    return folder


@pytest.fixture
def state(tmp_path) -> Path:
    return tmp_path / "state/nanocoder"


@pytest.fixture
def environment(tmp_path, cache):
    """The variables of a program in a terminal of its own."""
    ours = ("NANOCODER_", "XDG_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    for name in ("VISUAL", "EDITOR", "NO_COLOR"):
        environment.pop(name, None)
    places = {"CONFIG": tmp_path / "config", "STATE": tmp_path / "state", "CACHE": cache}
    environment |= {f"XDG_{name}_HOME": str(path) for name, path in places.items()}
    environment |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    environment["NANOCODER_SANDBOX"] = "none"  # so that commands are asked about
    return environment


@pytest.fixture
def start(tmp_path, workspace, environment):
    """Start nanocoder in a terminal on a script of turns; *words* is the command line."""
    started = []

    def begin(words, *turns, env=None, **size):
        script = tmp_path / "turns.json"
        script.write_text(json.dumps({"turns": list(turns)}))
        model = {"NANOCODER_MODEL": f"scripted/{script}"}
        talk = Talk(words, workspace, environment | model | (env or {}), **size)
        started.append(talk)
        return talk

    yield begin
    for talk in started:
        talk.close()


@pytest.fixture
def run(start):
    """Start `nanocoder run` on a script of turns."""
    return lambda *turns, **more: start(["run", "--mode", "ask", "go"], *turns, **more)


@pytest.fixture
def chat(start):
    """Start the conversation on a script of turns and wait for its prompt."""

    def begin(*turns, **more):
        return start(["--mode", "ask"], *turns, **more).see("Ctrl-D leaves").see("ask · ").ready()

    return begin


@pytest.fixture
def editor(tmp_path):
    """Make an editor of a line of Python that gets `text` and `arguments`."""

    def make(line):
        script = tmp_path / "editor.py"
        script.write_text(
            "import json, pathlib, sys\n"
            "path = pathlib.Path(sys.argv[-1])\n"
            "text = path.read_text()\n"
            "mode = oct(path.stat().st_mode & 0o777)\n"
            f"{line}\n"
            "path.write_text(text)\n"
        )
        return {"EDITOR": f"'{sys.executable}' '{script}'"}

    return make
