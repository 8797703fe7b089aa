"""A rehearsed release: packages are uploaded to an index and installed as README says."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import repository

TIMEOUT_S = 600
START_S = 60
SERVER = "pypiserver==2.4.2"
"""In an environment of its own: it brings pip, and `plugins install` would use that."""
pytestmark = pytest.mark.timeout(TIMEOUT_S)


def is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def published(folder: Path) -> list[Path]:
    """Return the files of the packages that a release uploads: the examples stay here."""
    stems = {package.name.replace("-", "_") for package in repository.published()}
    files = (*folder.glob("*.whl"), *folder.glob("*.tar.gz"))
    return sorted(file for file in files if file.name.split("-")[0] in stems)


@pytest.fixture(scope="module")
def index(wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of an index with every package, uploaded as a release uploads it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    folder = tmp_path_factory.mktemp("index")
    address = f"http://127.0.0.1:{port}"
    arguments = ["run", "-i", "127.0.0.1", "-p", port, "-a", ".", "-P", ".", "--disable-fallback"]
    program = ["uv", "run", "--no-project", "--quiet", "--with", SERVER, "pypi-server"]
    server = [*program, *arguments, str(folder)]
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + START_S
            while not is_up(address) and time.monotonic() < end:
                time.sleep(0.1)
            upload = ["uv", "publish", "--no-config", "--quiet", "--publish-url", address]
            account = ["--username", "a", "--password", "a", "--trusted-publishing", "never"]
            subprocess.run([*upload, *account, *map(str, published(wheelhouse))], check=True)
            yield f"{address}/simple/"
        finally:
            process.terminate()


def environment(index: str, home: Path) -> dict[str, str]:
    """Return a newcomer's variables: an empty home, and our packages at *index*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    ours = {"UV_INDEX": index, "PIP_EXTRA_INDEX_URL": index, "UV_NO_CACHE": "1"}
    tools = {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin")}
    return kept | ours | tools | {"HOME": str(home)}


def readme_line(start: str) -> str:
    text = (repository.ROOT / "README.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith(f"$ {start}")]
    return line.removeprefix("$ ")


def run(command: list[str], home: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=home, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.full
def test_the_readmes_line_installs_the_command_from_an_index(index, tmp_path):
    variables = environment(index, tmp_path)
    run(readme_line("uv tool install nanocoder-core").split(), tmp_path, variables)
    program = str(tmp_path / "bin/nanocoder")
    run([program, "doctor"], tmp_path, variables)
    # A plugin that is added later comes from the same index.
    run([program, "plugins", "install", "dialect-nano", "--yes"], tmp_path, variables)
    assert "dialect-nano" in run([program, "plugins", "list"], tmp_path, variables)


@pytest.mark.full
def test_the_readmes_line_installs_the_default_set_into_an_empty_environment(index, tmp_path):
    variables = environment(index, tmp_path)
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path, variables)
    _, *arguments = readme_line("pip install nanocoder-set-default").split()
    run([str(tmp_path / "venv/bin/pip"), *arguments], tmp_path, variables)
    run([str(tmp_path / "venv/bin/nanocoder"), "doctor"], tmp_path, variables)
