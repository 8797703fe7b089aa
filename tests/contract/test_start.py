"""Starting is quick because little is imported: counted in modules, not in seconds."""

import json
import os
import subprocess
import sys

import pytest
import repository

VERSION_MODULES = 40
SLOW = (
    "asyncio",
    "cattrs",
    "httpx",
    "importlib.metadata",
    "importlib_metadata",
    "prompt_toolkit",
    "rich",
)
WAITING_KINDS = ("tool", "command", "runner", "eval", "sandbox", "dialect")

# The command line leaves with os._exit, so what is loaded is told there.
RUN = """
import os, sys
def tell(code):
    sys.stdout.flush()
    os.write(3, " ".join([str(code), *sys.modules]).encode())
    leave(code)
leave, os._exit = os._exit, tell
sys.argv[:1] = ["nanocoder"]
from nanocoder.cli import main
try:
    main()
except SystemExit as leaving:
    tell(leaving.code or 0)
tell(0)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a home whose manifest is written, as it is from the second start on."""
    folder = tmp_path_factory.mktemp("home")
    folder.with_name("start").mkdir()
    reply = {"turns": [{"text": "Hello."}]}
    (folder / "reply.json").write_text(json.dumps(reply), encoding="utf-8")
    loaded(folder, "tools")
    # The first run tries the sandbox, and remembers that it works.
    loaded(folder, "run", "--model", f"scripted/{folder}/reply.json", "Hello")
    return folder


def loaded(home, *arguments):
    """Run the command line and return the names of the modules that it has loaded in the end."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(home)}
    read, write = os.pipe()
    command = ["bash", "-c", f'exec "$@" 3>&{write}', "bash", sys.executable, "-I", "-c", RUN]
    done = subprocess.run(
        [*command, *arguments],
        cwd=home.with_name("start"),
        env=kept,
        pass_fds=[write],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(write)
    with os.fdopen(read) as file:
        code, *modules = file.read().split()
    assert code == "0", done.stdout + done.stderr
    return set(modules)


def plugins_of(kinds):
    modules = [module for package in repository.plugins() for module in package.modules]
    return {module for module in modules if module.split("_")[1] in kinds}


def speaks_at_the_start(module):
    """Return True if a plugin adds to the prompt, sees every event or changes each request."""
    files = [file for package in repository.plugins() for file in package.files]
    text = "".join(file.read_text(encoding="utf-8") for file in files if module in file.parts)
    hooks = ("nanocoder_prompt", "nanocoder_event", "nanocoder_before_request")
    return any(f"def {hook}(" in text for hook in hooks)


def test_the_version_is_told_before_anything_is_imported(home):
    modules = loaded(home, "--version")
    assert len(modules) <= VERSION_MODULES, sorted(modules)
    assert not modules & set(SLOW)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", ["--help", "tools", "plugins list"])
def test_what_the_manifest_knows_is_told_without_importing_a_plugin(home, command):
    modules = loaded(home, *command.split())
    assert sorted(modules & set(SLOW)) == []
    assert sorted(modules & plugins_of(("ui", "provider", *WAITING_KINDS))) == []


@pytest.mark.timeout(60)
def test_a_run_imports_the_plugins_that_it_uses_and_nothing_slow(home):
    modules = loaded(home, "run", "--model", f"scripted/{home}/reply.json", "Hello")
    assert sorted(modules & set(SLOW)) == []
    waiting = {name for name in plugins_of(WAITING_KINDS) if not speaks_at_the_start(name)}
    assert sorted(modules & waiting) == []


@pytest.mark.timeout(60)
def test_a_run_without_a_call_imports_little_of_the_policies(home):
    modules = loaded(home, "run", "--model", f"scripted/{home}/reply.json", "Hello")
    policies = plugins_of(("policy",))
    parts = [name for name in modules if name.partition(".")[0] in policies and "." in name]
    # What may be read is asked where a plugin looks for files; what judges calls is far more.
    assert len(parts) <= 5 * len(policies), sorted(parts)
