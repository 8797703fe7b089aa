"""A workspace with a sandbox around it, for the tests of each sandbox.

The plugin's tests have a fixture *box*, which opens a sandbox: `box(session, settings)`.
"""

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from nanocoder import PathFilter, SessionInfo
from nanocoder_files import Readable
from nanocoder_kit_process import environment
from nanocoder_kit_process.trees import remove_tree
from nanocoder_kit_sandbox import Settings

SECRET = "SECRET-7f3a"
SYSTEM_PYTHON = "/usr/bin/python3"
PYTHON = f"{SYSTEM_PYTHON if os.path.exists(SYSTEM_PYTHON) else sys.executable} -I -S -c"
DEEPEN = f"""{PYTHON} 'import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for _ in range(3_000):
    os.mkdir("d")
    os.chdir("d")'"""
"""Makes a folder with more levels than a path can have."""
TIME_S = 60
EMPTY: Mapping[str, str] = {}
Done = subprocess.CompletedProcess


class NoSecrets(PathFilter):
    """Keeps `.env` and `private` from everybody, and `ledger` and locks as they are."""

    def refuses(self, path: str) -> str:
        """Refuse them by name."""
        return "a secret" if path.rpartition("/")[2] in {".env", "private"} else ""

    def read_only(self, folder: str, names: Sequence[str]) -> dict[str, str]:
        """Keep them by name."""
        kept = (name for name in names if name == "ledger" or name.endswith(".lock"))
        return dict.fromkeys(kept, "a rule forbids it")


class Inside:
    """A workspace with a repository, a home and a place outside, and a sandbox around it."""

    def __init__(self, root: Path, box: Callable[[SessionInfo, Settings], object]) -> None:
        self.root = root
        self.workspace, self.home, self.out = root / "ws", root / "home", root / "out"
        for folder in (self.workspace, self.home, self.out):
            folder.mkdir()
        self._box = box
        self._opened: list[object] = []
        (self.workspace / ".env").write_text(SECRET)
        (self.workspace / "private").mkdir()
        (self.workspace / "private/notes").write_text(SECRET)
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/id_ed25519").write_text(SECRET)
        (self.home / ".netrc").write_text(SECRET)
        (self.out / "file").write_text("before")
        self.git("init", "-q")

    def git(self, *arguments: str) -> str:
        """Run git outside of the sandbox, as a person would."""
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "safe.directory=*")
        return subprocess.run(
            ["git", *names, *arguments],
            cwd=self.workspace,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        ).stdout

    def open(
        self,
        settings: Settings | None = None,
        origins: tuple[Path, ...] = (),
        readable: Readable | None = None,
    ) -> object:
        """Return a sandbox for the workspace, which is a copy of its *origins*."""
        readable = readable or Readable([("secrets", NoSecrets())])
        session = SessionInfo("s", self.workspace, readable=readable, origins=origins)
        opened = self._box(session, settings or Settings())
        self._opened.append(opened)
        return opened

    def run(self, command: str, settings: Settings | None = None, **env: str) -> Done:
        """Run a command inside, with the environment that commands get."""
        return self.start(self.open(settings).wrap(["/bin/bash", "--norc", "-c", command], ()), env)

    def start(self, argv: list[str], env: Mapping[str, str] = EMPTY) -> Done:
        """Run what a sandbox has wrapped."""
        return subprocess.run(
            argv,
            cwd=self.workspace,
            env={**environment(os.environ), "OUT": str(self.out), "HOME": str(self.home), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_S,
            check=False,
        )

    def close(self) -> None:
        """Close the sandboxes."""
        for box in self._opened:
            box.close()
        self._opened.clear()


@pytest.fixture
def inside(box, monkeypatch):
    """Provide a workspace with a sandbox around it, not below /tmp, which is another one inside."""
    root = Path(tempfile.mkdtemp(prefix="nanocoder-test-", dir="/var/tmp"))
    root.chmod(0o755)
    monkeypatch.setenv("HOME", str(root / "home"))
    tmp = tempfile.mkdtemp(prefix="nanocoder-test-", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", tmp)
    place = Inside(root, box)
    yield place
    place.close()
    remove_tree(tmp)
    # bubblewrap hides each socket that a program listens on, and fails where the socket is removed
    # meanwhile: tests in other processes begin while this one ends.
    atexit.register(remove_tree, root)


@pytest.fixture
def below_tmp():
    """Provide a folder below the real /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="nanocoder-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


@pytest.fixture
def repository(inside):
    """Provide a workspace with two commits and a program that leaves a mark."""
    evil = inside.workspace / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {inside.out}/mark\ncat 2>/dev/null\n")
    evil.chmod(0o755)
    (inside.workspace / "file").write_text("x\n")
    inside.git("config", "extensions.worktreeConfig", "true")
    inside.git("add", "file", "evil")
    inside.git("commit", "-qm", "first")
    inside.git("commit", "-qm", "second", "--allow-empty")
    return inside


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return what a folder holds: mode, time and content of each path."""
    return {
        str(path): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns if path.is_file() else 0,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in [folder, *sorted(folder.rglob("*"))]
    }
