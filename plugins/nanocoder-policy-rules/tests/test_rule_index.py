"""Rules are found by an index; a plain loop over all of them comes to the same verdicts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nanocoder import Mode, Readable, SessionInfo, ToolCall, Verdict
from nanocoder_policy_rules import (
    Settings,
    nanocoder_before_execute,
    nanocoder_readable,
    rule_matching,
    rulebook,
)
from nanocoder_policy_rules.rule_tables import RuleTable
from nanocoder_policy_rules.rulebook import RuleBook
from nanocoder_policy_rules.rules import SHELL, Rule

WORDS = ("git", "push", "rm", "-rf", "make", "test", "cp", "a.py", "src", "*", "-f", "deploy*")
PATHS = ("src/**", "*.py", "private/**", "a.py", "src/a.py", "/etc/**", "**/log", "*")
TOOLS = (
    "read_file",
    "write_file",
    "edit_file",
    "web_fetch",
    "dev_server",
    "*",
    "*_file",
    "stranger",
)
MORE_WORDS = ("$tool", "$(cat x)", "'git push'", "/usr/bin/git", "tee", "log", "sed", "-i", "echo")
SIGNS = ("", "", "", " && ", "; ", " | ", " > ")
ALLOWED = (
    "bash(make *)",
    "bash(git push *)",
    "write_file(src/**)",
    "edit_file(*.py)",
    "dev_server",
)
TABLES = (
    {"tool": "bash", "pattern": "make *", "mode": ("auto",)},
    {"effect": "write", "arguments": {"path": "src/**"}},
    {"tool": "*", "arguments": {"command": "git *"}},
    {"risk": "dangerous", "agent": "review"},
    {"tool": "write_file", "arguments": {"path": "private/**"}},
    {"tool": "dev_server", "pattern": "deploy *", "interactive": False},
)

commands = st.lists(
    st.sampled_from((*WORDS[:8], *WORDS[10:], *MORE_WORDS, *SIGNS)), min_size=1, max_size=7
).map(" ".join)
short_rules = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(
        lambda words: f"bash({' '.join(words)})"
    ),
    st.tuples(st.sampled_from(TOOLS), st.sampled_from(PATHS)).map(
        lambda pair: "{}({})".format(*pair)
    ),
    st.sampled_from((*TOOLS, "bash", "web_fetch(https://*.example.org/*)")),
).flatmap(lambda text: st.sampled_from((text, text, f"{text} @review", f"{text} @main")))
tables = st.tuples(st.sampled_from(TABLES), st.sampled_from(("deny", "ask"))).map(
    lambda pair: RuleTable(verdict=pair[1], **pair[0])
)
paths_of_calls = st.sampled_from(("a.py", "src/a.py", "private/x", "../log", "/etc/passwd", "new"))
calls = st.one_of(
    commands.map(lambda text: ("bash", {"command": text})),
    commands.map(lambda text: ("dev_server", {"command": text, "path": "src"})),
    st.tuples(
        st.sampled_from(("read_file", "write_file", "edit_file", "grep", "stranger")),
        paths_of_calls,
    ).map(lambda pair: (pair[0], {"path": pair[1]})),
    st.just(("web_fetch", {"url": "https://docs.example.org/a"})),
)


class PlainBook(RuleBook):
    """Rules of one verdict, each of which is looked at for each call."""

    def of_tool(self, case: Any) -> list[Rule]:
        """Return the rules that are about the tool of a call, and hold in its session."""
        return [rule for rule in self._holding(case) if rule.names(case.call.name)]

    def forbidding(self, case: Any) -> Iterator[Rule]:
        """Yield the rules that are about the tool of a call, or about commands if it runs any."""
        for rule in self._holding(case):
            is_for_command = case.started and rule.pattern and rule.names(SHELL)
            if is_for_command or rule.names(case.call.name):
                yield rule

    def _holding(self, case: Any) -> Iterator[Rule]:
        for rule in self.rules:
            if rule.is_about(case.tool) and rule.holds(case.session, case.mode):
                yield rule


@pytest.fixture
def verdict(tmp_path: Path, tools: Any) -> Any:
    """Judge a call in a folder with some files: verdict(settings, call, mode, agent)."""
    for name in ("src", "private"):
        (tmp_path / name).mkdir()
    for name in ("a.py", "src/a.py", "private/x"):
        (tmp_path / name).write_text("")

    def judge(parsed: Settings, call: tuple[str, Any], mode: str, agent: str) -> Verdict:
        session = SessionInfo("s", tmp_path, Mode(mode), agent=agent)
        reading = nanocoder_readable(tools, session, parsed)
        session = attrs.evolve(session, readable=Readable([("policy-rules", reading)]))
        name, arguments = call
        return nanocoder_before_execute(
            ToolCall("1", name, arguments), tools[name], session, parsed
        )

    return judge


def both(verdict: Any, lists: Any, *about: Any) -> tuple[Verdict, Verdict]:
    """Return the two verdicts on a call, by the index and by the plain loop."""
    return verdict(Settings(**lists), *about), verdict(plain_settings(lists), *about)


def plain_settings(lists: Any) -> Settings:
    """Return settings whose rules are all looked at."""
    plain = Settings(**lists)
    with patch.object(rulebook, "RuleBook", PlainBook):
        for verdict in ("deny", "ask", "allow"):
            rulebook.book(plain, verdict)
    return plain


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    deny=st.lists(short_rules, max_size=6).map(tuple),
    ask=st.lists(short_rules, max_size=6).map(tuple),
    allow=st.lists(st.sampled_from(ALLOWED), max_size=3).map(tuple),
    rules=st.lists(tables, max_size=3).map(tuple),
    call=calls,
    mode=st.sampled_from(("ask", "edits", "auto", "plan")),
    agent=st.sampled_from(("", "review")),
)
def test_the_index_comes_to_the_verdict_of_a_plain_loop(
    verdict, deny, ask, allow, rules, call, mode, agent
):
    lists = {"deny": deny, "ask": ask, "allow": allow, "rules": rules}
    indexed, plain = both(verdict, lists, call, mode, agent)
    assert indexed == plain


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (("bash", {"command": "make; $tool push"}), "bash(git push)"),
        (("dev_server", {"command": "env git push", "path": "."}), "bash(git push *)"),
        (("edit_file", {"path": "src/a.py"}), "*_file(*.py)"),
        (("read_file", {"path": "private/x"}), "grep(private/**)"),
    ],
)
def test_each_way_to_a_rule_is_among_what_is_compared(verdict, call, rule):
    indexed, plain = both(verdict, {"deny": (rule,)}, call, "edits", "")
    assert indexed == plain
    assert rule in indexed.reason or rule in indexed.rule


def test_a_rule_for_commands_is_not_about_a_path_of_a_tool_that_runs_one(verdict):
    call = ("dev_server", {"command": "git status", "path": "src"})
    indexed, plain = both(verdict, {"deny": ("bash(src)",)}, call, "ask", "")
    assert indexed == plain
    assert not indexed.rule


MOST_RULES = 3
"""So many of 500 rules about other things are compared with a call."""


@pytest.mark.parametrize(
    "call",
    [
        ("bash", {"command": "pytest -q tests/test_a.py"}),
        ("bash", {"command": "make test > log 2>&1; tail -5 log"}),
        ("read_file", {"path": "src/a.py"}),
        ("edit_file", {"path": "src/a.py"}),
    ],
)
def test_of_many_rules_few_are_looked_at(verdict, monkeypatch, call):
    looked_at = []

    def forbids(rule, case, judge=rule_matching.forbids):
        looked_at.append(rule)
        return judge(rule, case)

    monkeypatch.setattr(rule_matching, "forbids", forbids)
    kinds = ("bash(deploy{} *)", "read_file(made{}/**)", "edit_file(made{}/*.py)", "mcp_{}")
    lists = {"deny": tuple(kinds[number % 4].format(number) for number in range(500))}
    verdict(plain_settings(lists), call, "edits", "")
    assert len(looked_at) >= len(lists["deny"]) / len(kinds)
    looked_at.clear()
    verdict(Settings(**lists), call, "edits", "")
    assert len(looked_at) <= MOST_RULES
