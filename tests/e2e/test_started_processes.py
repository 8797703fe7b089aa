"""What we start ourselves: whose programs they are, and with which environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nanocoder import Plugins
from nanocoder_tool_task.merging import APPLY
from repository import ROOT, Package

NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
SECRET = "sk-SECRETKEY-1234567890abcdef"


@pytest.fixture
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def nanocoder(tmp_path, home):
    """Run the installed command in the test's directory."""

    def run(*words, path="", **variables):
        names = ("PATH", "LANG", "TMPDIR", "NANOCODER_SANDBOX")
        env = {name: os.environ[name] for name in names if name in os.environ}
        env |= {"HOME": str(home), **variables}
        env["PATH"] = f"{path}:{env['PATH']}" if path else env["PATH"]
        command = [NANOCODER, *words]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture
def hijack(tmp_path):
    """Put a program of a name into a folder of the workspace and return the folder."""

    def make(name, folder=".venv/bin", kind="file"):
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        real = place / name if kind == "file" else tmp_path / f"real-{name}"
        real.write_text(f"#!/bin/sh\necho HIJACKED; touch {tmp_path}/HIJACKED\n")
        real.chmod(0o755)
        if kind == "link":
            (place / name).symlink_to(real)
        return place

    return make


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("no_sandbox")
@pytest.mark.parametrize("command", ["cat n.txt", "cat sub/../n.txt", "ls | cat"])
def test_a_command_that_only_reads_is_not_that_of_the_workspace(
    nanocoder, hijack, tmp_path, command
):
    (tmp_path / "n.txt").write_text("text\n")
    (tmp_path / "sub").mkdir()
    for word in ("cat", "ls"):
        place = hijack(word)
    done = nanocoder("call", "bash", json.dumps({"command": command}), path=str(place))
    assert done.returncode == 3, done
    assert not (tmp_path / "HIJACKED").exists()
    explained = nanocoder("policy", "explain", "bash", json.dumps({"command": command}))
    assert "allow" in explained.stdout, "without the entry it runs unasked as before"


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("no_sandbox")
def test_a_link_into_the_workspace_is_a_program_of_the_workspace(
    nanocoder, hijack, tmp_path, tmp_path_factory
):
    (tmp_path / "n.txt").write_text("text\n")
    place = hijack("cat")
    outside = tmp_path_factory.mktemp("bin")
    (outside / "cat").symlink_to(place / "cat")
    done = nanocoder("call", "bash", '{"command": "cat n.txt"}', path=str(outside))
    assert done.returncode == 3, done
    assert not (tmp_path / "HIJACKED").exists()


@pytest.mark.timeout(120)
def test_an_approved_command_has_the_venv_of_the_workspace_and_not_ours(
    nanocoder, hijack, tmp_path
):
    place = hijack("pytest")
    words = ("call", "bash", '{"command": "command -v pytest python3"}', "--mode", "auto")
    own = f"{place}:{sys.prefix}/bin"
    done = nanocoder(*words, path=own, VIRTUAL_ENV=sys.prefix, UV_RUN_RECURSION_DEPTH="1")
    assert done.returncode == 0, done
    assert str(place / "pytest") in done.stdout
    assert sys.prefix not in done.stdout


def task(**arguments):
    call = {"name": "task", "arguments": {"description": "d", "prompt": "p", **arguments}}
    return {"turns": [{"calls": [call]}, {"text": "Done."}]}


@pytest.fixture
def repository(tmp_path):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (tmp_path / "a.txt").write_text("one\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("mode", "decision"), [("plan", "deny"), ("ask", "ask"), ("edits", "ask"), ("auto", "allow")]
)
def test_a_worktree_asks_and_is_never_made_in_plan_mode(nanocoder, repository, mode, decision):
    given = {"description": "d", "prompt": "p", "isolation": "worktree"}
    done = nanocoder("policy", "explain", "task", json.dumps(given), "--mode", mode)
    assert decision in done.stdout.partition("\n")[0], done
    given["isolation"] = "none"
    done = nanocoder("policy", "explain", "task", json.dumps(given), "--mode", mode)
    assert "allow" in done.stdout.partition("\n")[0], "its calls are judged one by one"


@pytest.mark.timeout(120)
def test_git_of_the_workspace_is_not_started(nanocoder, repository, hijack, home):
    place = hijack("git", "bin")
    turns = home / "turns.json"
    turns.write_text(json.dumps(task(isolation="worktree")))
    model = f"scripted/{turns}"
    done = nanocoder("run", "--mode", "plan", "--model", model, "x", path=str(place))
    assert not (repository / "HIJACKED").exists(), done
    assert not (repository / ".git/worktrees").exists()
    nanocoder("run", "--mode", "auto", "--model", model, "x", path=str(place))
    assert not (repository / "HIJACKED").exists()


@pytest.mark.timeout(120)
def test_the_default_set_merges_what_a_sub_agent_changed():
    default = Package(ROOT / "plugins/nanocoder-set-default")
    plugins = Plugins.installed()
    owner = plugins.tools()[APPLY].plugin
    assert plugins.entries[owner].distribution in default.required


AUDIT = """
import os, sys
seen = []
def hear(event, arguments):
    if event in {"subprocess.Popen", "os.posix_spawn"}:
        seen.append((event, arguments[1], arguments[-1]))
sys.addaudithook(hear)
import nanocoder
from nanocoder_testing.playing import called
open(os.path.join(sys.argv[1], "a.txt"), "a").write("needle\\n")
with nanocoder.open_session(sys.argv[1], model="scripted/" + sys.argv[2], mode="auto") as session:
    for name, arguments in (
        ("grep", {"pattern": "needle"}),
        ("glob", {"pattern": "*.txt"}),
        ("bash", {"command": "true"}),
        ("bash", {"command": "sleep 60", "background": True}),
        ("dev_server", {"action": "start", "command": "sleep 60"}),
        ("read_file", {"path": "a.png"}),
        ("task", {"description": "d", "prompt": "p", "isolation": "worktree"}),
    ):
        result, _ = called(session, name, arguments)
        print(name, result.error_class or "ok", file=sys.stderr)
for event, argv, env in seen:
    shown = None if env is None else {str(k): str(v) for k, v in dict(env).items()}
    print(__import__("json").dumps([event, list(map(str, argv)), shown]))
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("is_there", [True, False])
def test_no_process_of_ours_gets_a_key(nanocoder, repository, home, tmp_path_factory, is_there):
    turns = home / "turns.json"
    turns.write_text(json.dumps({"turns": [{"text": "Done."}]}))
    (repository / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 64)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "OPENAI_API_KEY": SECRET}
    env["NANOCODER_MODEL"] = f"scripted/{turns}"
    env |= {} if is_there else {"PATH": _without_rg(tmp_path_factory)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", AUDIT, str(repository), str(turns)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    started = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(started) >= 5, done
    bare = [(argv, env) for _, argv, env in started if env is None]
    assert not bare
    leaked = [argv for _, argv, env in started if SECRET in json.dumps(env)]
    assert not leaked


def _without_rg(tmp_path_factory):
    """Return a PATH with git and the shell alone."""
    place = tmp_path_factory.mktemp("programs")
    for name in ("git", "sh", "bash", "sleep", "true"):
        found = next(
            (Path(one) / name for one in os.get_exec_path() if (Path(one) / name).exists()), None
        )
        if found is not None:
            (place / name).symlink_to(found)
    return str(place)
