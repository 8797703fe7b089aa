"""The core needs no single plugin: each is switched off, and one of each kind replaced."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import repository
from nanocoder import (
    Decision,
    Effect,
    Plugins,
    ToolContext,
    Verdict,
    hookimpl,
    open_session,
    tool,
)
from nanocoder_testing.scripted import Scripted

pytestmark = pytest.mark.timeout(120)
NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
SET = repository.ROOT / "plugins/nanocoder-set-default"
CALL = {"name": "read_file", "arguments": {"path": "a.txt"}}
TURNS = {"turns": [{"calls": [CALL]}, {"text": "Done."}]}


def names():
    """Return the plugins of the default set by their short names."""
    required = repository.Package(SET).required
    packages = [package for package in repository.plugins() if package.name in required]
    return [name for package in packages for name in package.entry_points]


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
@pytest.mark.rows(6)
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


@tool(risk="safe", effects={Effect.READ})
def read_file(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
    """Read a file another way than the plugin of this name does."""
    return ctx.workspace.read_bytes(path).decode().upper()


class Reader:
    @hookimpl
    def nanocoder_tools(self):
        return [read_file]


class Judge:
    @hookimpl
    def nanocoder_before_execute(self, call):
        return Verdict(Decision.DENY, f"{call.arguments['path']} is not for you")


@pytest.mark.contract("NT-103")
@pytest.mark.parametrize(
    ("name", "replacement", "output"),
    [
        ("tool-read", Reader(), "A\n"),
        ("policy-rules", Judge(), "denied: a.txt is not for you"),
        ("provider-scripted", None, "1\ta"),
        ("store-files", None, "1\ta"),
    ],
)
def test_another_plugin_takes_the_place_of_each_kind(
    tmp_path, monkeypatch, name, replacement, output
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NANOCODER_STORE", "memory" if name == "store-files" else "files")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("a\n")
    plugins = Plugins.installed()
    plugins.remove(name)
    plugins.add(Scripted([[("read_file", {"path": "a.txt"})], "Done."]), "another-model")
    if replacement is not None:
        plugins.add(replacement, "another")
    options = {"plugins": plugins, "model": "script/play", "mode": "auto"}
    with open_session(tmp_path / "work", **options) as session:
        *_, last = session.run("go")
        [result] = session.messages[2].results
    assert (last.kind, result.output) == ("run.finished", output)
