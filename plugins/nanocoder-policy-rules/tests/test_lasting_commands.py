"""Commands that others see at once ask in every mode."""

import pytest

LASTING = [
    "git push",
    "git push origin main",
    "git push --force",
    "git push origin --delete old",
    "git push origin :old",
    "git -C . push -u origin HEAD",
    "git add -A && git commit -m x && git push",
    "sudo git push > log",
    "gh pr create --fill",
    "git commit -qm x; gh pr merge 12 --squash",
    "gh issue comment 3 --body done",
    "gh release create v1",
    "glab mr create",
]


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
@pytest.mark.parametrize("command", LASTING)
def test_it_asks_in_every_mode_and_says_how_to_allow_it(command, mode, judge):
    verdict = judge("bash", {"command": command}, mode)
    assert str(verdict.decision) == "ask"
    if mode == "auto":
        assert (verdict.rule, verdict.source) == ("lasting commands", "default")
        assert "plugins.policy-rules" in verdict.reason
        assert "in every mode" in verdict.reason


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("bash(git push *)", "git push origin main", "allow"),
        ("bash(git push origin *)", "git push origin main", "allow"),
        ("bash(git push origin *)", "git push upstream main", "ask"),
        ("bash(git push origin *)", "git push origin --force", "ask"),
        ("bash(git push origin *)", "git push origin +main", "ask"),
        ("bash(git push origin *)", "git push origin :main", "ask"),
        ("bash(git push --force *)", "git push --force origin main", "allow"),
        ("bash(git branch *)", "git branch new", "allow"),
        ("bash(git branch -D *)", "git branch -D old", "allow"),
        ("bash", "git push --force", "allow"),
    ],
)
def test_a_rule_allows_what_it_names(rule, command, expected, mode, judge):
    verdict = judge("bash", {"command": command}, mode, allow=[rule])
    assert str(verdict.decision) == expected


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git fetch && git pull",
        "git branch -a",
        "git branch new",
        "git tag v1",
        "git commit -m 'git push comes later'",
        "git log --oneline | grep push",
        "rm -rf build/*",
        "cd build && rm -rf *",
        "rm *.pyc",
        "git branch -D old",
        "git stash drop",
        "git clean -xdf",
    ],
)
def test_everyday_work_goes_on_in_mode_auto(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


def test_nobody_pushes_in_plan_mode(judge):
    assert str(judge("bash", {"command": "git push"}, "plan").decision) == "deny"
