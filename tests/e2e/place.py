"""An installation of its own, made in a second: what is written to its site directory is there."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Place:
    """A virtual environment with nanocoder's core family and what a test installs, and a home."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.mark = folder / "mark"
        self.venv = folder / "venv"
        self.work.mkdir()
        venv.create(self.venv, with_pip=False)
        major, minor = sys.version_info[:2]
        self.site = self.venv / f"lib/python{major}.{minor}/site-packages"
        # What the core needs is found, but no plugin of ours.
        (self.site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        for distribution in sorted(ROOT.glob("core/nanocoder-*")):
            self.bring(distribution.name)

    def install(
        self, name: str, files: dict[str, str], plugin: str = "", requires: tuple[str, ...] = ()
    ) -> None:
        for path, text in files.items():
            (self.site / path).parent.mkdir(exist_ok=True)
            (self.site / path).write_text(text)
        points = {plugin: name.replace("-", "_")} if plugin else {}
        self.describe(name, points, files, requires)

    def describe(
        self,
        name: str,
        plugins: Mapping[str, str],
        files: Iterable[str],
        requires: Iterable[str] = (),
    ) -> None:
        """Write the metadata of a distribution: *plugins* maps their names to their modules."""
        info = self.info(name)
        info.mkdir()
        needed = "".join(f"Requires-Dist: {other}\n" for other in requires)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n{needed}")
        if plugins:
            points = "".join(f"{plugin} = {module}\n" for plugin, module in plugins.items())
            (info / "entry_points.txt").write_text(f"[nanocoder]\n{points}")
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))

    def info(self, name: str) -> Path:
        return self.site / f"{name.replace('-', '_')}-1.0.dist-info"

    def run(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        env = {"HOME": str(self.home), "PATH": os.defpath, "OPENAI_API_KEY": "sk-SECRETKEY"}
        env |= variables
        command = [str(self.venv / "bin/python"), "-P", "-m", "nanocoder", *words]
        return subprocess.run(
            command, cwd=self.work, env=env, capture_output=True, text=True, timeout=60, check=False
        )

    def bring(self, name: str) -> None:
        """Install a package of this repository with those of this repository that it requires."""
        folder = next(ROOT.glob(f"*/{name}"))
        if self.info(name).exists():
            return
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(folder / "src", self.site, ignore=ignored, dirs_exist_ok=True)
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = project.get("entry-points", {}).get("nanocoder", {})
        files = [f"{file.parent.name}/__init__.py" for file in folder.glob("src/*/__init__.py")]
        self.describe(name, points, files)
        for required in project["dependencies"]:
            if ours := re.match(r"nanocoder-[\w-]+", required):
                self.bring(ours[0])

    def greet(self) -> "subprocess.CompletedProcess[str]":
        return self.run("call", "greet", "{}")

    def lock(self) -> None:
        config = self.home / ".config/nanocoder/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("[plugins]\nstrict = true\n")
        done = self.run("plugins", "lock")
        assert done.returncode == 0, done

    @property
    def synced(self) -> str:
        return self.run("plugins", "sync").stdout
