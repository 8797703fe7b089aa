"""The linter that the user configured runs after each edit, and the model reads what it finds."""

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nanocoder
import pytest

CHECKER = """
import sys
for path in sys.argv[1:]:
    if "TODO" in open(path).read():
        print(f"{path}:1: there is a TODO")
        sys.exit(3)
"""
SPAMMER = "while True: print('x' * 1000)"


@pytest.fixture
def linted(project: Path) -> Callable[..., str]:
    """Return a function that makes one call under a linter, and returns what the model reads."""

    def made(program: str, name: str, more: str = "", mode: str = "auto", **arguments: Any) -> str:
        folder = project.parent / "home/.config/nanocoder"
        folder.mkdir(parents=True, exist_ok=True)
        command = json.dumps(program)
        (folder / "config.toml").write_text(
            f'[plugins.policy-lint]\n{more}\n[plugins.policy-lint.commands]\n"*.py" = {command}\n'
        )
        with nanocoder.open_session(project, mode=mode) as session:
            *_, last = session.call(name, arguments)
        assert last.data["status"] == "ok", last.data
        return str(last.data["output"])

    return made


@pytest.fixture
def checker(project: Path) -> str:
    (project / "check.txt").write_text(CHECKER)
    return f"{sys.executable} check.txt {{path}}"


@pytest.mark.contract("A14")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "src/b.py", "content": "x = 1  # TODO\n"}),
        ("edit_file", {"path": "src/a.py", "old_string": "1", "new_string": "2  # TODO"}),
        ("atomic_edit", {"file_path": "src/a.py", "old_string": "1", "new_string": "2  # TODO"}),
        (
            "apply_patch",
            {
                "patch": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a = 1\n+a = 1  # TODO\n"
                "*** End Patch\n"
            },
        ),
    ],
)
def test_the_model_reads_what_the_linter_finds(project, linted, checker, name, arguments):
    (project / "src").mkdir()
    (project / "src/a.py").write_text("a = 1\n")
    output = linted(checker, name, **arguments)
    path = arguments.get("path") or "src/a.py"
    assert f": exit code 3\n./{path}:1: there is a TODO]" in output
    assert output.count("there is a TODO") == 1


def test_a_linter_that_is_content_says_nothing(linted, checker):
    assert "check.py" not in linted(checker, "write_file", path="a.py", content="x = 1\n")


def test_it_looks_at_files_that_fit_its_pattern_alone(linted, checker):
    assert "check.py" not in linted(checker, "write_file", path="a.md", content="TODO\n")


def test_it_runs_after_edits_alone(project, linted, checker):
    (project / "a.py").write_text("TODO\n")
    assert "check.py" not in linted(checker, "read_file", path="a.py")
    assert "check.py" not in linted(checker, "bash", command="cat a.py")
    assert "check.py" not in linted(checker, "delete_file", path="a.py")


def test_a_command_without_a_path_runs_once_for_all_files_and_in_the_workspace(project, linted):
    program = f"{sys.executable} -c 'import os; print(os.getcwd()); raise SystemExit(1)'"
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Add File: b.py\n+x\n*** End Patch\n"
    assert linted(program, "apply_patch", patch=patch).count(f"exit code 1\n{project}]") == 1


def test_a_name_that_looks_like_an_option_is_a_path(linted, checker):
    output = linted(checker, "write_file", path="--help.py", content="TODO\n")
    assert "./--help.py:1: there is a TODO" in output


def test_no_shell_reads_the_command(project, linted):
    linted(f"{sys.executable} -c pass ; touch MARK", "write_file", path="a.py", content="x\n")
    linted(f"{sys.executable} -c pass {{path}}", "write_file", path="$(touch MARK).py", content="")
    assert not (project / "MARK").exists()


def test_the_workspace_brings_no_linter_by_its_name(project, linted, monkeypatch):
    (project / "bin").mkdir()
    program = project / "bin/pretty"
    program.write_text("#!/bin/sh\ntouch MARK\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}/bin:{os.environ['PATH']}")
    output = linted("pretty {path}", "write_file", path="a.py", content="x\n")
    assert (
        "[pretty ./a.py: there is no such program outside the workspace; give its path]" in output
    )
    assert not (project / "MARK").exists()
    assert "[bin/pretty ./b.py: exit code 1" in linted(
        "bin/pretty {path}", "write_file", path="b.py", content="x\n"
    )


def test_a_linter_sees_no_key(linted, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123456")
    program = f"{sys.executable} -c 'import os; print(*os.environ); raise SystemExit(1)'"
    output = linted(program, "write_file", path="a.py", content="x\n")
    assert "PATH" in output
    assert "OPENAI_API_KEY" not in output


def test_a_linter_that_hangs_is_stopped(linted):
    sleep = shlex.join([sys.executable, "-c", "import time; time.sleep(60)"])
    began = time.monotonic()
    output = linted(sleep, "write_file", "timeout_s = 0.5", path="a.py", content="x\n")
    assert "it took too long and was stopped]" in output
    assert time.monotonic() - began < 30


def test_a_linter_that_never_stops_talking_is_cut(linted):
    spammer = shlex.join([sys.executable, "-c", SPAMMER])
    output = linted(spammer, "write_file", path="a.py", content="x\n")
    assert "more lines]" in output
    assert len(output) < 10_000


def test_an_untrusted_project_cannot_name_a_linter(project, linted, checker):
    (project / ".nanocoder").mkdir()
    (project / ".nanocoder/config.toml").write_text(
        '[plugins.policy-lint.commands]\n"*" = "touch MARK"\n'
    )
    linted(checker, "write_file", path="a.md", content="x\n")
    assert not (project / "MARK").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('commands = { "*.py" = "ruff \'" }', "'*.py': No closing quotation"),
        ('commands = { "*.py" = "" }', "'*.py': there is no command"),
        ("timeout_s = 0", "timeout_s: 0.0 is not above 0 and at most 25"),
        ("timeout_s = 60", "timeout_s: 60.0 is not above 0 and at most 25"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(project, text, said):
    folder = project.parent / "home/.config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f"[plugins.policy-lint]\n{text}\n")
    with pytest.raises(nanocoder.ConfigError, match=said.replace("*", r"\*")):
        nanocoder.open_session(project)


def test_code_that_a_linter_runs_of_a_project_stays_in_the_sandbox(project, linted):
    outside = project.parent / "home/pwned"
    (project / "config.txt").write_text(f"open('ran', 'w')\nopen({str(outside)!r}, 'w')")
    linted(f"{sys.executable} config.txt", "write_file", path="a.py", content="x = 1\n")
    assert (project / "ran").exists()
    assert not outside.exists()
