"""A rule that allows does what a person expects, or is refused with what to write instead."""

import shutil
import subprocess

import pytest
from nanocoder_policy_rules import Settings


@pytest.mark.finding("F4")
@pytest.mark.finding("B6")
@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(git add -A)", "git add -A"),
        ("bash(git add)", "git add --all && ls"),
        ("bash(git checkout *)", "git checkout HEAD~1 -- src"),
        ("bash(git merge *)", "git merge --ff-only x | head -3"),
        ("bash(git add *)", "git add -A"),
        ("bash(git commit *)", 'git commit -m "describe git push"'),
        ("bash(git config --get *)", "git config --get user.name"),
        ("bash(pytest *)", "pytest -q tests"),
        ("bash(pytest)", "cd src && pytest | tail -5"),
        ("bash(npx tsc *)", "npx tsc --noEmit"),
        ("bash(python3 -m pytest *)", "python3 -m pytest -q"),
        ("bash(python3 scripts/build.py *)", "python3 scripts/build.py --fast"),
        ("bash(uv run pytest *)", "uv run pytest -q"),
        ("bash(docker compose up *)", "docker compose up -d"),
        ("bash(sudo apt-get update)", "sudo apt-get update"),
        ("bash(timeout 60 pytest *)", "timeout 60 pytest -q"),
        ("bash(find *)", "find . -newer a -name x"),
        ("bash(sort *)", "sort -S 1M a"),
        ("bash(./run.sh *)", "./run.sh now"),
    ],
)
def test_a_rule_allows_what_it_names(rule, command, judge):
    verdict = judge("bash", {"command": command}, allow=[rule])
    assert (str(verdict.decision), verdict.rule) == ("allow", rule), verdict.reason


@pytest.mark.finding("F4")
@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(git log *)", "git log --output=a"),
        ("bash(git log *)", "git log --outp a"),
        ("bash(git diff *)", "git diff --ext-diff"),
        ("bash(git log *)", "git -c core.pager=x log"),
        ("bash(git status)", "git stash"),
        ("bash(git fetch *)", "git fetch --upload-pack=x"),
        ("bash(git rebase main *)", "git rebase main -x make"),
        ("bash(git status)", "git status; make"),
        ("bash(find *)", "find . -exec touch x +"),
        ("bash(find *)", "find -L . -name x"),
        ("bash(find *)", "find . -follow"),
        ("bash(ls *)", "ls -lLR --full-time"),
        ("bash(tree *)", "tree -al"),
        ("bash(make *)", "make --eval=x:y"),
        ("bash(make *)", "make --ev x"),
        ("bash(find . *)", "find . -name x -delete"),
        ("bash(sort *)", "sort --compress-prog=x a"),
        ("bash(tar *)", "tar xf a.tar --to-command=x"),
        ("bash(tar *)", "tar xPf a.tar"),
        ("bash(tar *)", "tar -x --absolute-names -f a.tar"),
        ("bash(tar *)", "tar cf a.tar --remove-files src"),
        ("bash(install *)", "install -s --strip-program=./x a b"),
        ("bash(find *)", "find -files0-from list"),
        ("bash(npx tsc *)", "npx eslint ."),
        ("bash(uv run pytest *)", "uv run python x.py"),
        ("bash(npm *)", "npm exec x"),
    ],
)
def test_a_rule_allows_no_more(rule, command, judge):
    assert str(judge("bash", {"command": command}, allow=[rule]).decision) == "ask"


@pytest.mark.finding("B6")
@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        ("bash(git *)", "`bash(git status)`"),
        ("bash(git)", "`bash(git status)`"),
        ("bash(git config *)", "`bash(git config --get *)`"),
        ("bash(python3 *)", "`bash(python3 -m pytest *)`"),
        ("bash(python3 -c *)", "name that, too"),
        ("bash(npx *)", "`bash(npx tsc *)`"),
        ("bash(npx -y *)", "`bash(npx tsc *)`"),
        ("bash(uv run *)", "`bash(uv run pytest *)`"),
        ("bash(sudo *)", "`bash(sudo PROGRAM *)`"),
        ("bash(timeout 60 *)", "`bash(timeout PROGRAM *)`"),
        ("bash(env A=1 *)", "`bash(env PROGRAM *)`"),
        ("bash(docker run *)", "`bash(docker compose up *)`"),
        ("bash(make && make test)", "each part of a chain needs a rule of its own"),
        ("bash(make | tee log)", "each part of a chain needs a rule of its own"),
        ("bash(echo $HOME)", "'$' is not recognised"),
        ("bash(make > log)", "'>' is not recognised"),
        ('bash(git commit -m "x y")', "without quotes"),
        ("bash(X=1 make)", "NAME=value"),
        ("bash(eval *)", "decides what later commands do"),
        ("bash(cd *)", "decides what later commands do"),
        ("bash(nanocoder config trust)", "decides what later commands do"),
        ("bash(*test *)", "name the program"),
    ],
)
def test_a_rule_that_can_never_fit_or_fits_anything_is_refused_with_advice(rule, advice):
    with pytest.raises(ValueError, match="rule") as refused:
        Settings(allow=(rule,))
    assert repr(rule) in str(refused.value)
    assert advice in str(refused.value)
    Settings(deny=(rule,), ask=(rule,))


def test_rules_for_other_tools_are_no_rules_for_commands():
    Settings(allow=("write_*(docs/**)", "*(src/**)", "web_fetch(https://x.test/?a=b&c)"))


@pytest.fixture
def repository(tmp_path):
    """A repository as `git init` makes it, and a function that writes its settings."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "src").mkdir()
    config = tmp_path / ".git/config"
    before = config.read_text()
    return lambda text, file=config: file.write_text(f"{before}{text}\n")


GIT = ["bash(git status *)", "bash(git diff *)", "bash(git log *)", "bash(git add -n *)"]


@pytest.mark.finding("F4")
@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\tfsmonitor = touch x; false",
        "[core]\n\tfsmonitor = false||touch x",
        "[core]\n\tfsmonitor = false\\\n||touch x",
        "[core] fsmonitor = touch x",
        "[core]fsmonitor=touch x",
        "[user]\n\tname = me\n[core] # ours\n\tFSMONITOR=touch x",
        '[diff "x"]\n  textconv = ./x.sh',
        '[diff "a]b"] command = ./x.sh',
        '[filter "x"]\n\tclean = ./x.sh',
        "[core]\n\tPager=./x.sh",
        "[include]\n\tpath = ../x",
        "[core] [include] path = ../x",
        '[includeIf "gitdir:**"]\n\tpath = ../x',
        "[core]\n\thooksPath = x",
        "[core]\n\tworktree = /",
        "[core]\n\tworktree = ../..",
        '[remote "x"]\n\turl = ext::sh -c x',
        '[submodule "x"]\n\tupdate = !x',
        "#" * 300_000 + "\n[core]\n\tfsmonitor = touch x",
    ],
)
def test_git_asks_where_the_repository_names_a_program(setting, repository, judge):
    for command in ("git status", "cd src && git diff"):
        repository('[core]\n\tfsmonitor = false\n[remote "o"]\n\turl = git@x.test:y')
        assert str(judge("bash", {"command": command}, allow=GIT).decision) == "allow"
        repository(setting)
        verdict = judge("bash", {"command": command}, allow=GIT)
        assert str(verdict.decision) == "ask"
        assert "can start a program" in verdict.reason


def _worktree(root):
    (root / "link").mkdir()
    (root / "link/.git").write_text("gitdir: ../elsewhere\n")
    shutil.copytree(root / ".git", root / "elsewhere")
    return root / "elsewhere/config", "cd link && git status"


def _shared(root):
    shutil.copytree(root / ".git", root / "elsewhere")
    (root / ".git/commondir").write_text("../elsewhere\n")
    return root / "elsewhere/config", "git status"


def _bare(root):
    subprocess.run(["git", "init", "-q", "--bare", root / "bare"], check=True)
    return root / "bare/config", "cd bare && git log"


def _broken_below(root):
    (root / "src/.git").mkdir()
    (root / "src/.git/HEAD").write_text("not a repository\n")
    return root / ".git/config", "cd src && git status"


@pytest.mark.finding("F4")
def test_a_folder_of_git_that_names_another_one_is_asked_about(tmp_path, repository, judge):
    assert str(judge("bash", {"command": "git status"}, allow=GIT).decision) == "allow"
    _, command = _shared(tmp_path)
    assert str(judge("bash", {"command": command}, allow=GIT).decision) == "ask"


@pytest.mark.finding("F4")
@pytest.mark.parametrize("make", [_worktree])
def test_the_settings_are_those_that_git_reads(make, tmp_path, repository, judge):
    file, command = make(tmp_path)
    assert str(judge("bash", {"command": command}, allow=GIT).decision) == "allow"
    repository("[core]\n\tfsmonitor = touch x", file)
    assert str(judge("bash", {"command": command}, allow=GIT).decision) == "ask"


@pytest.mark.finding("F4")
@pytest.mark.parametrize("make", [_bare, _broken_below])
def test_git_asks_where_it_may_find_another_repository(make, tmp_path, repository, judge):
    _, command = make(tmp_path)
    verdict = judge("bash", {"command": command}, allow=GIT)
    assert str(verdict.decision) == "ask"
    assert "can start a program" in verdict.reason


@pytest.mark.finding("F4")
def test_a_hook_that_runs_when_git_only_looks_asks(tmp_path, repository, judge):
    hook = tmp_path / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\n")
    assert str(judge("bash", {"command": "git status"}, allow=GIT).decision) == "allow"
    hook.rename(hook.with_name("post-index-change"))
    assert str(judge("bash", {"command": "git status"}, allow=GIT).decision) == "ask"
