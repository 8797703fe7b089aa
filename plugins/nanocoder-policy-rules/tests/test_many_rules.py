"""Which of many rules are compared with a call, and how often."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
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


def test_only_rules_that_may_be_about_a_call_are_compared_each_once_in_their_order(
    judge, monkeypatch
):
    compared = []

    def forbids(rule, context, forbids=rule_matching.forbids):
        compared.append(rule.text)
        return forbids(rule, context)

    monkeypatch.setattr(rule_matching, "forbids", forbids)
    about_all = ["edit_file(*.py)", "*_file", "edit_file([ab]/c)"]
    about_folder = [f"edit_file(src/made{number}/*.py)" for number in range(100)]
    others = [f"edit_file(made{number}/*.py)" for number in range(100)]
    others += [f"bash(deploy{number} *)" for number in range(100)]
    rules = [*about_folder[:50], *others, *about_all, *about_folder[50:]]
    judge("edit_file", {"path": "src/a.md"}, "edits", deny=rules)
    assert compared == [rule for rule in rules if rule not in others]


RULES = [
    *("bash(git push)", "bash(GIT *)", "bash(rm -rf)", "bash(de* now)", "bash(/usr/bin/env git)"),
    *("*(git push)", "dev_server(git push)", "dev_server(src/**)", "dev_server", "bash(*)", "*"),
    *("edit_file(src/**)", "edit_file(SRC/a.py)", "edit_file(*.py)", "edit_file(./a.py)"),
    *("edit_file({src,x}/**)", "edit_file([s]rc/a.py)", "edit_file(/etc/**)", "*_file(src/*/x)"),
    *("edit_file(/src/**)", "edit_file(~/x)", "web_fetch(example.org)", "read_file(src/ )"),
]
WORDS = ["git", "push", "/usr/bin/Git", "rm", "-rf", "echo", "'git push'", "$tool", "deploy", "now"]
SIGNS = ["", "", "&&", "|", ";", "(", "xargs"]
COMMANDS = st.lists(st.sampled_from([*WORDS, *SIGNS]), min_size=1, max_size=6).map(" ".join)
PATHS = st.sampled_from(["src/a.py", "SRC/b", "src", ".", "a.py", "x/../src/a", "/etc/x", "~/x"])
CALLS = st.one_of(
    st.tuples(st.just("bash"), st.fixed_dictionaries({"command": COMMANDS})),
    st.tuples(st.just("dev_server"), st.fixed_dictionaries({"command": COMMANDS, "path": PATHS})),
    st.tuples(st.just("edit_file"), st.fixed_dictionaries({"path": PATHS})),
    st.just(("edit_file", {})),
    st.just(("web_fetch", {"url": "https://example.org/a"})),
)


@given(call=CALLS, rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=4))
def test_comparing_every_rule_comes_to_the_same_verdict(judge, monkeypatch, call, rules):
    verdict = judge(*call, "edits", deny=rules)
    with monkeypatch.context() as every_rule:
        every_rule.setattr(rule_matching, "_keys", lambda _context: None)
        assert judge(*call, "edits", deny=rules) == verdict
