"""Which of many rules are compared with a call, and how often."""

import pytest
from nanocoder_policy_rules import rule_matching


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("bash", {"command": "make; $tool push"}, "bash(git push)"),
        ("dev_server", {"command": "env git push", "path": "."}, "bash(git push *)"),
        ("edit_file", {"path": "src/a.py"}, "*_file(*.py)"),
    ],
)
def test_a_rule_is_found_for_each_tool_that_it_is_about(judge, name, arguments, rule):
    verdict = judge(name, arguments, "edits", deny=[rule])
    assert rule in verdict.reason or rule in verdict.rule


def test_a_rule_for_commands_is_not_about_a_path_of_a_tool_that_runs_one(judge):
    arguments = {"command": "git status", "path": "src"}
    assert not judge("dev_server", arguments, deny=["bash(src)"]).rule


def test_each_rule_about_the_tool_is_compared_once_and_no_other(judge, monkeypatch):
    compared = []

    def forbids(rule, context, forbids=rule_matching.forbids):
        compared.append(rule.text)
        return forbids(rule, context)

    monkeypatch.setattr(rule_matching, "forbids", forbids)
    about_tool = [f"edit_file(made{number}/*.py)" for number in range(100)]
    others = [f"bash(deploy{number} *)" for number in range(100)]
    judge("edit_file", {"path": "src/a.py"}, "edits", deny=about_tool + others)
    assert compared == about_tool
