"""Work with git and pull requests: bash is the tool, and the rules know the commands."""

import subprocess

import pytest

pytestmark = [pytest.mark.contract("A29"), pytest.mark.timeout(120)]
READING = ("git status --short", "git diff HEAD", "git log -3", "git show HEAD", "git branch")
WRITING = ("git add a.py", "git commit -m x", "git switch -c fix", "gh pr view 12")
PUBLIC = ("git push origin fix", "gh pr create --fill", "gh pr merge 12")


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def make_repository(folder):
    (folder / "a.py").write_text("x = 1\n")
    git(folder, "init", "-q", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
def test_reading_runs_writing_follows_the_mode_and_what_others_see_asks(mode, judge, tmp_path):
    make_repository(tmp_path)

    def decisions(commands):
        verdicts = {each: judge("bash", {"command": each}, mode) for each in commands}
        return {each: str(verdict.decision) for each, verdict in verdicts.items()}

    assert decisions(READING) == dict.fromkeys(READING, "allow" if mode == "auto" else "ask")
    assert decisions(WRITING) == dict.fromkeys(WRITING, "allow" if mode == "auto" else "ask")
    assert decisions(PUBLIC) == dict.fromkeys(PUBLIC, "ask")


def test_a_branch_and_a_commit_are_made_and_a_pull_request_waits_for_a_person(nanocoder):
    make_repository(nanocoder.cwd)
    git(nanocoder.cwd, "config", "user.name", "a")
    git(nanocoder.cwd, "config", "user.email", "a@example.org")
    steps = ("git switch -qc fix", "git rm -q a.py", "git commit -qm 'Remove a'", PUBLIC[1])
    calls = [{"name": "bash", "arguments": {"command": step}} for step in steps]
    script = nanocoder.script(*({"calls": [call]} for call in calls), {"text": "Done."})
    done = nanocoder("run", "--mode", "auto", "--model", script, "Open a pull request")
    assert done.returncode == 3, "the pull request needs approval, and no person can answer"
    assert 'allow = ["bash(gh pr create *)"]' in done.stderr
    assert git(nanocoder.cwd, "log", "-1", "--format=%s", "fix") == "Remove a\n"
