"""Git commands that only read run unasked in a plain repository, and show nothing kept back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
_, _, LIST = README.read_text().partition("## Fifty everyday commands")
EVERYDAY = LIST.split("```")[1].splitlines()[1:]
UNASKED = 47


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """Return a plain repository with a few files."""
    (tmp_path / "src").mkdir()
    for name in ("README.md", "src/a.py", "src/b.py"):
        (tmp_path / name).write_text("def main(): ...\n")
    git(tmp_path, "init", "-q", ".")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


@pytest.mark.contract("C5")
@pytest.mark.parametrize("mode", ["plan", "ask", "edits"])
def test_of_fifty_everyday_commands_that_only_read_47_run_unasked(
    repository, judge, mode, tmp_path_factory, monkeypatch
):
    programs = tmp_path_factory.mktemp("bin")
    (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    verdicts = {command: judge("bash", {"command": command}, mode) for command in EVERYDAY}
    asked = [command for command, verdict in verdicts.items() if verdict.decision != "allow"]
    assert len(EVERYDAY) == 50
    assert asked == EVERYDAY[UNASKED:]


@pytest.mark.parametrize(
    "command",
    [
        "git -C src status",
        "git --no-pager log -p -2 --since yesterday",
        "cd src && git log --author=a -- a.py",
        "git log -S main --format='%h %s' HEAD~2..HEAD",
        "git stash list",
        "git worktree list",
    ],
)
def test_these_read_too(repository, judge, command):
    assert str(judge("bash", {"command": command}).decision) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git stash",
        "git branch new",
        "git branch -D main",
        "git tag v1",
        "git remote add x y",
        "git diff --output=x",
        "git diff --no-index README.md /etc/passwd",
        "git diff --ext-diff",
        "git log --format=%G?",
        "git log --pretty %GG",
        "git log --show-signature",
        "git -c core.fsmonitor=x status",
        "git --git-dir=../x status",
        "git -C .. status",
        "git --exec-path=. status",
        "git grep -O main",
        "git grep -nOless main",
        "git reflog expire --all",
        "git ls-files -- ../x",
        "git config --list",
        "git checkout README.md",
        "git fetch",
        "git",
    ],
)
def test_no_other_git_command_runs_unasked(repository, judge, command):
    assert str(judge("bash", {"command": command}).decision) == "ask"


@pytest.mark.contract("C5", "C15")
@pytest.mark.parametrize("name", ["private/x", ".env"])
def test_what_git_could_show_of_a_file_that_is_kept_back_asks(repository, judge, name):
    path = repository / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("secret")
    deny = {"deny": ["read_file(private/**)"]}
    assert str(judge("bash", {"command": "git diff"}, **deny).decision) == "allow"
    git(repository, "add", "-f", name)
    for command in ("git diff", "git show HEAD", "git log -p", "git grep secret"):
        assert str(judge("bash", {"command": command}, **deny).decision) == "ask", command
    assert str(judge("bash", {"command": "git status"}, **deny).decision) == "allow"
    command = {"command": f"git show HEAD:{name}"}
    assert str(judge("bash", command, **deny).decision) == "deny"


def test_a_repository_around_the_workspace_asks(repository, tools):
    from nanocoder import SessionInfo, ToolCall
    from nanocoder_policy_rules import Settings, nanocoder_before_execute

    call = ToolCall("1", "bash", {"command": "git status"})
    for folder, expected in ((repository, "allow"), (repository / "src", "ask")):
        session = SessionInfo("s", folder)
        verdict = nanocoder_before_execute(call, tools["bash"], session, Settings())
        assert str(verdict.decision) == expected
