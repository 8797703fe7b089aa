"""`nanocoder plugins test`: the tests of a plugin's folder, with the Python of nanocoder."""

import importlib.util
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError
from nanocoder_kit_process import environment

NO_KIT: Final = (
    "this needs the package nanocoder-testing: `nanocoder plugins install testing` installs it"
)
_NOT_A_TEST: Final = "there is no folder or file of tests {path!r}"


def run(arguments: Namespace, host: Host) -> int:
    """Run the tests in a process of their own, without keys, and return pytest's exit code."""
    # After `uv tool install` and pipx no other Python has nanocoder, pytest and the fixtures.
    path = host.cwd / arguments.path
    if importlib.util.find_spec("nanocoder_testing") is None:
        raise UsageError(NO_KIT)
    if not path.exists():
        raise UsageError(_NOT_A_TEST.format(path=arguments.path))

    sys.stdout.flush()
    folder, tests = (path, []) if path.is_dir() else (path.parent, [path.name])
    command = [sys.executable, "-m", "pytest", "-q", *tests]
    return subprocess.run(command, cwd=folder, env=_environment(folder), check=False).returncode


def _environment(folder: Path) -> dict[str, str]:
    child = environment(os.environ, workspace=folder)
    return {**child, "TERM": os.environ.get("TERM", "dumb")}
