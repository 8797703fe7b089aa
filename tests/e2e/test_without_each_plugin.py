"""The core needs no single plugin: each of the default set is switched off in turn."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import repository

pytestmark = pytest.mark.timeout(120)
NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
SET = repository.ROOT / "plugins/nanocoder-set-default"
CALL = {"name": "read_file", "arguments": {"path": "a.txt"}}
TURNS = {"turns": [{"calls": [CALL]}, {"text": "Done."}]}


def names():
    """Return the plugins of the default set by their short names."""
    required = repository.Package(SET).project["project"]["dependencies"]
    return [name.removeprefix("nanocoder-") for name in required if name != "nanocoder-core"]


@pytest.fixture
def run(tmp_path, warm):
    """Let a scripted model read a file while a plugin is switched off."""
    work, script = tmp_path / "work", tmp_path / "script.json"
    work.mkdir()
    (work / "a.txt").write_text("a\n")
    script.write_text(json.dumps(TURNS))
    warm(tmp_path / "home")
    folder = tmp_path / "home/.config/nanocoder"
    folder.mkdir(parents=True)

    def start(name):
        (folder / "config.toml").write_text(f'[plugins]\ndisable = ["{name}"]\n')
        command = [NANOCODER, "run", "--model", f"scripted/{script}", "go"]
        environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
        return subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False
        )

    return start


@pytest.mark.contract("NT-103")
@pytest.mark.parametrize("name", names())
def test_a_run_goes_on_without_any_one_plugin_and_names_the_one_that_is_missed(run, name):
    done = run(name)
    assert "Traceback" not in done.stderr
    if name == "provider-scripted":  # it is the model of this run
        assert (done.returncode, done.stdout) == (2, "")
    else:
        assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    if name in {"provider-scripted", "tool-read"}:
        assert f"the plugin '{name}' has it, but plugins.disable names it" in done.stderr
    elif name != "ui-plain":
        assert "- read_file path=a.txt" in done.stderr
