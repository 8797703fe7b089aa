"""A package is tested where only it, the test kit and what both require are installed."""

import os
import subprocess
import sys

import pytest
import repository

PACKAGES = repository.drawn(5)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_is_tested_with_what_it_requires(package, tmp_path):
    project = package.folder / "pyproject.toml"
    folders = (package.folder, repository.testing().folder)
    needs = [f"--editable={folder}" for folder in folders]
    if "test" in package.project.get("dependency-groups", {}):
        needs.append(f"--group={project}:test")
    python = tmp_path / "venv/bin/python"
    run("uv", "venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv"))
    run("uv", "pip", "install", "--quiet", "--python", str(python), *needs)
    options = ("-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'tests'}", "-m", "not full")
    run(str(python), "-m", "pytest", *options, package.label)


def run(*command):
    """Run a command at the root of the repository, as in the environment of its first word."""
    folders = (os.path.dirname(command[0]), os.environ["PATH"])
    environment = os.environ | {"PATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run(
        command, cwd=repository.ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
