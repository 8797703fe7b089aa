"""A rule that allows does what a person expects, or is refused with what to write instead."""

import pytest
from nanocoder_policy_rules import Settings


@pytest.mark.finding("F4")
@pytest.mark.finding("B6")
@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(git status)", "git status"),
        ("bash(git status)", "git status --short && ls"),
        ("bash(git diff *)", "git diff HEAD~1 -- src"),
        ("bash(git log *)", "git log --oneline -5 | head -3"),
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
        ("bash(find . *)", "find . -name x -delete"),
        ("bash(sort *)", "sort --compress-prog=x a"),
        ("bash(tar *)", "tar xf a.tar --to-command=x"),
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


@pytest.mark.finding("F4")
@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\tfsmonitor = touch x; false",
        '[diff "x"]\n  textconv = ./x.sh',
        '[filter "x"]\n\tclean = ./x.sh',
        "[core]\n\tPager=./x.sh",
        "[include]\n\tpath = ../x",
        "[core]\n\thooksPath = x",
    ],
)
def test_git_asks_where_the_repository_names_a_program(setting, tmp_path, judge):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    config = tmp_path / ".git/config"
    allow = ["bash(git status *)", "bash(git diff *)"]
    for command in ("git status", "cd src && git diff"):
        config.write_text("[core]\n\tbare = false\n\tfsmonitor = false\n")
        assert str(judge("bash", {"command": command}, allow=allow).decision) == "allow"
        config.write_text(f"[core]\n\tbare = false\n{setting}\n")
        verdict = judge("bash", {"command": command}, allow=allow)
        assert str(verdict.decision) == "ask"
        assert "can start a program" in verdict.reason
