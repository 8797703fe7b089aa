"""The command as its users run it: a process of its own with a home of its own."""

import atexit
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import prefork
import pytest

COMMAND = str(Path(sys.executable).with_name("nanocoder"))
RUN_TIMEOUT_S = 60
KEPT = ("PATH", "TMPDIR", "NANOCODER_SANDBOX")
"""Variables that a test may have set for the command, too."""

SERVERS: list[subprocess.Popen[bytes]] = []

Done = subprocess.CompletedProcess[str]


class CommandLine:
    """Runs `nanocoder` in a workspace; *home* and *cwd* are its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.cwd = folder / "work"
        self.home.mkdir()
        self.cwd.mkdir()

    @property
    def environment(self) -> dict[str, str]:
        """Return what a user's shell would hand over: no key, no model."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "HOME": str(self.home), "LANG": "C.UTF-8"}

    def __call__(self, *words: str, command: str = "", **options: Any) -> Done:
        """Run it to its end; *options* are those of subprocess.run, `env` adds variables.

        It is a fork of a process that has imported nanocoder. Give *command* (COMMAND, or another
        program) where the start itself is tested; variables of Python have one, too.
        """
        env = {**self.environment, **options.pop("env", {})}
        of_python = any(name.startswith(("PYTHON", "LC_")) for name in env)
        command = command or (COMMAND if of_python or env["LANG"] != "C.UTF-8" else forked())
        given = {"cwd": self.cwd, "stdin": subprocess.DEVNULL, "timeout": RUN_TIMEOUT_S}
        given |= {"capture_output": True, "text": True} if "stdout" not in options else {}
        given |= options
        return subprocess.run([*command.split(), *words], env=env, check=False, **given)

    def on_terminal(self, *words: str, columns: int = 80, code: int = 0) -> str:
        """Run it with a terminal of so many columns at its output; returns what it printed.

        It has to end with the exit code *code*.
        """
        leader, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        with subprocess.Popen(
            [COMMAND, *words],
            cwd=self.cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
        ) as process:
            os.close(follower)
            printed = b"".join(_pieces(leader))
            assert process.wait(RUN_TIMEOUT_S) == code
        os.close(leader)
        return printed.decode().replace("\r\n", "\n")

    def script(self, *turns: Any, **more: Any) -> str:
        """Write a script for the scripted provider and return the value for --model."""
        path = self.home / "script.json"
        path.write_text(json.dumps({"turns": list(turns), **more}), encoding="utf-8")
        return f"scripted/{path}"


def forked() -> str:
    """Return a command that is a fork of a process with nanocoder imported."""
    return f"{sys.executable} -I -S {prefork.__file__} {fork_server()}"


@cache
def fork_server() -> str:
    """Start the server of prefork.py, which ends with this process; return its address."""
    folder = tempfile.mkdtemp(prefix="nanocoder-prefork-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = Path(__file__).with_name("prefork_server.py")
    server = subprocess.Popen(
        [sys.executable, "-P", str(program), f"{folder}/socket", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    SERVERS.append(server)  # it ends when its standard input is closed
    return f"{folder}/socket"


def plugin_in(site: Path, name: str, source: str) -> dict[str, str]:
    """Install a plugin of one module into a site directory of its own; return its variables."""
    module = name.replace("-", "_")
    info = site / f"nanocoder_{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(f"[nanocoder]\n{name} = {module}\n")
    (site / f"{module}.py").write_text(source)
    # What a .pth file or a second site directory does on a real machine.
    (site / "sitecustomize.py").write_text(
        "import site\nold = site.getsitepackages\n"
        f"site.getsitepackages = lambda *a: [*old(*a), {str(site)!r}]\n"
    )
    return {"PYTHONPATH": str(site)}


def _pieces(leader: int) -> Iterator[bytes]:
    with suppress(OSError):  # the writer has closed the terminal
        while piece := os.read(leader, 65_536):
            yield piece


@pytest.fixture(scope="session")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Describe the installed plugins once; every home starts with a copy of that cache."""
    folder = tmp_path_factory.mktemp("described")
    command_line = CommandLine(folder)
    done = command_line("plugins", "list")
    assert done.returncode == 0, done.stderr
    return command_line.home / ".cache"


@pytest.fixture
def warm(described: Path) -> Callable[[Path], None]:
    """Return a function that gives a home the plugin cache, as if nanocoder had run there before.

    The first start in a home needs three times the work of the next one.
    """

    def copy_cache(home: Path) -> None:
        if described.is_dir():
            shutil.copytree(described, home / ".cache")

    return copy_cache


@pytest.fixture
def nanocoder(tmp_path: Path, warm: Callable[[Path], None]) -> Callable[..., Done]:
    """Return the command with an empty home (a warm plugin cache aside) and an empty workspace."""
    command_line = CommandLine(tmp_path)
    warm(command_line.home)
    return command_line
