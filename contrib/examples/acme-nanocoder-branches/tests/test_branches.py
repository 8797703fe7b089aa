"""Which pushes are refused, which are asked about, and which are nobody's business."""

import shlex
from typing import Annotated

import acme_nanocoder_branches as acme
import pytest
from acme_nanocoder_branches import Settings
from acme_nanocoder_branches.pushes import Unreadable, pushed_branches
from nanocoder import Decision, Effect, ToolCall, hookimpl, tool


@tool(risk="dangerous", effects={Effect.EXECUTE})
def bash(command: Annotated[str, "What to run."]) -> str:
    """Run a command, or pretend to."""
    return f"ran {command}"


def judged(command: str, *protected: str):
    settings = Settings(protected=protected) if protected else None
    verdict = acme.nanocoder_before_execute(
        ToolCall("c", "bash", {"command": command}), bash, settings
    )
    return verdict and verdict.decision


REFUSED = [
    "git push origin main",
    "git push -u origin main",
    "git push origin +main",
    "git push origin HEAD:main",
    "git push origin feature:refs/heads/main",
    "git push --force-with-lease origin topic main",
    "git push origin :main",
    "git push origin --delete main",
    "git push --all origin",
    "git push origin --mirror",
    "git -C sub push origin main",
    "git -C sub -c user.name=x --git-dir=y push origin main",
    "GIT_TRACE=1 git push origin main",
    "env A=b git push origin main",
    "env -i -u HOME git push origin main",
    "/usr/bin/git push origin main",
    "sudo -u ada git push origin main",
    "cd sub && git push origin main",
    "true; git push origin main; true",
    "make test\ngit push origin main",
    "(git push origin main)",
    "echo $(git push origin main)",
    "echo `git push origin main`",
    "bash -c 'git push origin main'",
    'sh -c "cd x; git push origin main"',
    "eval 'git push origin main'",
    "if true; then git push origin main; fi",
    "g''it pu\\sh origin 'main'",
    "git push \\\n  origin main",
    "git push origin release/1.2",
    "git push origin main > log.txt 2>&1",
    "git push -o ci.skip origin main",
]
ASKED = [
    "git push",
    "git push origin",
    "git push origin HEAD",
    "git push origin $BRANCH",
    "git push origin 'unfinished",
    "git push origin 'refs/heads/*:refs/heads/*'",
]
FREE = [
    "git push origin topic",
    "git push origin main:topic",
    "git push origin maintenance",
    "git pull origin main",
    "git status",
    "echo 'git push origin main'",
    "git commit -m 'git push origin main'",
    "git push origin refs/tags/v1",
    "ls 'unfinished",
    "",
]


@pytest.mark.parametrize("command", REFUSED)
def test_a_push_to_a_protected_branch_is_refused(command):
    assert judged(command) is Decision.DENY


@pytest.mark.parametrize("command", ASKED)
def test_a_push_that_does_not_say_where_is_asked_about(command):
    assert judged(command) is Decision.ASK


@pytest.mark.parametrize("command", FREE)
def test_anything_else_is_nobodys_business(command):
    assert judged(command) is None


def test_the_branches_are_a_setting():
    assert judged("git push origin trunk", "trunk") is Decision.DENY
    assert judged("git push origin main", "trunk") is None


def test_a_refusal_reaches_the_model_with_its_reason(run_session):
    class Shell:
        @hookimpl
        def nanocoder_tools(self):
            return [bash]

    turns = [[("bash", {"command": "git push origin main"})], "I will open a merge request."]
    plugins = {"acme-policy-branches": acme, "shell": Shell()}
    played = run_session(turns, plugins=plugins, mode="auto")
    [result] = played.results
    assert result.error_class == "denied"
    assert result.output.startswith("denied: the branch 'main' is protected")


def test_shells_that_start_shells_are_followed_some_way():
    command = "git push origin main"
    for _ in range(4):
        command = f"bash -c {shlex.quote(command)}"
    assert pushed_branches(command) == ["main"]
    with pytest.raises(Unreadable, match="shells start shells"):
        pushed_branches(f"sh -c {shlex.quote(command)}")


def test_a_shell_that_cannot_be_read_is_said():
    with pytest.raises(Unreadable):
        pushed_branches("bash -c 'git push origin $x'")


def test_a_command_too_long_to_be_read_asks_when_it_may_push():
    padding = "x" * 5_000_000
    assert judged(f"echo {padding}; git push origin main") is Decision.ASK
    assert judged(f"echo {padding}") is None
