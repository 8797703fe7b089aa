"""Built wheels and empty environments for the tests that use nanocoder as its users do."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import repository
from attrs import frozen

INSTALL_TIMEOUT_S = 600
RUN_TIMEOUT_S = 120


@frozen
class Installed:
    """An environment of its own with wheels of ours and its own home; the checkout is unseen."""

    folder: Path
    wheelhouse: Path

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.folder / "venv/bin/python"

    def install(self, *requirements: str) -> None:
        """Install packages: ours from the built wheels, others in the tested versions."""
        ours = self.folder / "ours.txt"
        wheels = sorted(self.wheelhouse.glob("*.whl"))
        names = (wheel.name.split("-")[0].replace("_", "-") for wheel in wheels)
        lines = [f"{name} @ {wheel.as_uri()}\n" for name, wheel in zip(names, wheels, strict=True)]
        ours.write_text("".join(lines), encoding="utf-8")
        tested = repository.ROOT / "requirements.lock"
        self.uv("install", "--constraint", str(ours), "--constraint", str(tested), *requirements)

    def uv(self, command: str, *arguments: str) -> None:
        """Run one `uv pip` command on the environment."""
        base = ["uv", "pip", command, "--no-config", "--quiet", "--python", str(self.python)]
        _checked([*base, *arguments], self.folder)

    def nanocoder(
        self, *arguments: str, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the installed command and return what it printed and how it ended."""
        return subprocess.run(
            [str(self.python.with_name("nanocoder")), *arguments],
            cwd=cwd or self.folder / "work",
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """Return a user's environment variables: a home of its own, no key, no model."""
        kept = ("LANG", "LC_ALL", "TERM", "TMPDIR", "NANOCODER_SANDBOX")
        variables = {name: os.environ[name] for name in kept if name in os.environ}
        path = f"{self.python.parent}{os.pathsep}{os.defpath}"
        return variables | {"HOME": str(self.folder / "home"), "PATH": path}


def _checked(command: list[str], cwd: Path) -> None:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=cwd, timeout=INSTALL_TIMEOUT_S, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the wheel of every package; nox has built it, else it is built now."""
    if "NANOCODER_DIST" in os.environ:
        return Path(os.environ["NANOCODER_DIST"])
    folder = tmp_path_factory.mktemp("dist")
    arguments = ["--quiet", "--all-packages", "--wheel", "--out-dir", str(folder)]
    _checked(["uv", "build", *arguments], repository.ROOT)
    return folder


@pytest.fixture(scope="session")
def make_installed(
    wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Installed]:
    """Return a function that makes an environment with the packages that it is given."""

    def make(*requirements: str) -> Installed:
        folder = tmp_path_factory.mktemp("installed")
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        environment = Installed(folder, wheelhouse)
        arguments = ["--no-config", "--quiet", "--python", sys.executable]
        _checked(["uv", "venv", *arguments, str(folder / "venv")], folder)
        if requirements:
            environment.install(*requirements)
        return environment

    return make
