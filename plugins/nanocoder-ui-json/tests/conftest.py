import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

IN_TERMINAL = (
    sys.executable,
    "-c",
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))",
)


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
def run(tmp_path, workspace, cache):
    """Start `nanocoder run` on a script of turns; returns the process, its output piped.

    The form "terminal" is that of text, shown in a terminal.
    """
    (tmp_path / "config/nanocoder").mkdir(parents=True)
    ours = ("NANOCODER_", "XDG_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    places = {"CONFIG": tmp_path / "config", "STATE": tmp_path / "state", "CACHE": cache}
    environment |= {f"XDG_{name}_HOME": str(path) for name, path in places.items()}

    def start(form, *turns, settings="", env=None, stdin=subprocess.DEVNULL, prompt="go", more=()):
        is_terminal, form = form == "terminal", form.replace("terminal", "text")
        (tmp_path / "config/nanocoder/config.toml").write_text(settings)
        script = tmp_path / "turns.json"
        script.write_text(json.dumps({"turns": list(turns)}))
        words = ["run", "--output", form, "--model", f"scripted/{script}", *more, prompt]
        return subprocess.Popen(
            [*(IN_TERMINAL if is_terminal else ()), sys.executable, "-m", "nanocoder", *words],
            cwd=workspace,
            env=environment | (env or {}),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start
