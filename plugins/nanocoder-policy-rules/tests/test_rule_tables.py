"""Rules with conditions: what they are about, when they hold, and what is checked beforehand."""

import json
from datetime import datetime, timedelta, timezone

import pytest
from nanocoder import BadArguments, structure
from nanocoder_policy_rules import Settings

pytestmark = pytest.mark.timeout(30)


def table(**keys):
    """Return settings with one rule, as the configuration would have it."""
    return structure(Settings, {"rules": [{"verdict": "deny", **keys}]}).rules


def decision(judge, name, arguments, mode="ask", agent="", /, **keys):
    return str(judge(name, arguments, mode, agent, rules=table(**keys)).decision)


@pytest.mark.contract("C7")
@pytest.mark.contract("W10")
@pytest.mark.contract("MA-108")
@pytest.mark.parametrize(
    ("keys", "denied"),
    [
        ({"tool": "write_file"}, {"write_file"}),
        ({"tool": "*_file"}, {"read_file", "write_file", "edit_file", "delete_file"}),
        ({"effect": "network"}, {"web_search", "web_fetch", "bash", "dev_server", "stranger"}),
        ({"effect": "execute"}, {"bash", "dev_server", "batch", "stranger"}),
        ({"risk": "destructive"}, {"delete_file"}),
        ({"risk": "dangerous"}, {"delete_file", "bash", "apply_patch"}),
        ({"effect": "network", "risk": "dangerous"}, {"bash"}),
        ({"plugin": "tool-x"}, {"write_file"}),
        ({"plugin": "tool-*"}, {"write_file"}),
    ],
)
def test_what_a_rule_is_about(judge, tools, keys, denied):
    import attrs

    tools["write_file"] = attrs.evolve(tools["write_file"], plugin="tool-x")
    names = tools.keys() - {"http_check", "move_file", "served", "served_removal"}
    calls = {name: {"command": "make"} if name in {"bash", "dev_server"} else {} for name in names}
    reasons = {
        name: judge(name, arguments, "auto", rules=table(reason="why", **keys)).reason
        for name, arguments in calls.items()
    }
    assert {name for name, reason in reasons.items() if reason.startswith("why")} == denied


@pytest.mark.contract("C7")
@pytest.mark.contract("MA-109")
@pytest.mark.contract("MA-111")
@pytest.mark.parametrize(
    ("keys", "session", "holds"),
    [
        ({"mode": "auto"}, {"mode": "auto"}, True),
        ({"mode": "auto"}, {"mode": "ask"}, False),
        ({"mode": ["edits", "auto"]}, {"mode": "edits"}, True),
        ({"agent": "review"}, {"agent": "review"}, True),
        ({"agent": "re*"}, {"agent": "review"}, True),
        ({"agent": "main"}, {"agent": ""}, True),
        ({"agent": "main"}, {"agent": "review"}, False),
        ({"interactive": False}, {}, True),
        ({"interactive": True}, {}, False),
        ({"folder": "{root}"}, {}, True),
        ({"folder": "{above}/*"}, {}, True),
        ({"folder": "{above}"}, {}, True),
        ({"folder": "/elsewhere"}, {}, False),
    ],
)
def test_when_a_rule_holds(judge, tmp_path, keys, session, holds):
    text = (
        json.dumps(keys).replace("{root}", str(tmp_path)).replace("{above}", str(tmp_path.parent))
    )
    rules = table(tool="read_file", **json.loads(text))
    verdict = judge("read_file", {"path": "a"}, rules=rules, **session)
    assert str(verdict.decision) == ("deny" if holds else "allow")


NOW = datetime.now().astimezone()
TODAY = NOW.date()


@pytest.mark.parametrize(
    ("rule", "tool", "arguments"),
    [
        ("bash({terraform,tofu} apply *)", "bash", {"command": "tofu apply -auto-approve"}),
        ("bash(git p{ush,ull} *)", "bash", {"command": "git pull origin"}),
        ("web_fetch(https://{a,b}.test/*)", "web_fetch", {"url": "https://b.test/x"}),
        ("web_fetch(https://a.test/{x,y}*)", "web_fetch", {"url": "https://a.test/y/z"}),
    ],
)
@pytest.mark.parametrize("form", ["text", "table"])
def test_braces_name_alternatives_in_every_pattern(rule, tool, arguments, form, judge):
    pattern = rule.partition("(")[2][:-1]
    rules = {"deny": [rule]} if form == "text" else {"rules": table(tool=tool, pattern=pattern)}
    verdict = judge(tool, arguments, "auto", **rules)
    assert str(verdict.decision) == "deny", verdict.reason


def test_an_alternative_that_would_allow_too_much_is_refused(judge):
    with pytest.raises(ValueError, match="allows too much"):
        judge("bash", {"command": "ls"}, allow=["bash({make,python} *)"])


@pytest.mark.contract("W13")
@pytest.mark.parametrize(
    ("expires", "counts"),
    [
        (TODAY + timedelta(days=1), True),
        (TODAY, True),
        (TODAY - timedelta(days=1), False),
        (NOW + timedelta(hours=12), True),
        (NOW - timedelta(seconds=1), False),
        (NOW.replace(tzinfo=None) - timedelta(seconds=1), False),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))), True),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), False),
    ],
)
def test_an_expired_rule_no_longer_counts_and_is_named(judge, expires, counts):
    rules = table(tool="read_file", expires=expires)
    verdict = judge("read_file", {"path": "a"}, rules=rules)
    assert str(verdict.decision) == ("deny" if counts else "allow")
    remarks = list(Settings(rules=rules).remarks({"read_file"}, set()))
    assert [f"expired on {expires}" in line for _, line, _ in remarks] == [True] * (not counts)


@pytest.mark.parametrize(
    ("keys", "name", "arguments", "fits"),
    [
        ({"pattern": "git push *", "effect": "execute"}, "bash", {"command": "git push"}, True),
        (
            {"pattern": "git push *", "effect": "execute"},
            "dev_server",
            {"command": "git push"},
            True,
        ),
        (
            {"pattern": "secret/**", "effect": "write"},
            "write_file",
            {"path": "a/../secret/x"},
            True,
        ),
        ({"pattern": "secret/**", "effect": "write"}, "write_file", {"path": "a"}, False),
    ],
)
def test_a_pattern_and_a_condition_both_have_to_fit(judge, keys, name, arguments, fits):
    assert (decision(judge, name, arguments, "auto", **keys) == "deny") == fits


def test_a_rule_that_allows_covers_every_path_of_a_call(judge):
    keys = {"verdict": "allow", "tool": "write_file", "pattern": "docs/**"}
    assert decision(judge, "write_file", {"path": "docs/a"}, **keys) == "allow"
    assert decision(judge, "write_file", {"path": "docs/a", "target": "b"}, **keys) == "ask"


def test_a_rule_that_allows_by_risk_covers_that_risk_and_lower_ones(judge):
    keys = {"verdict": "allow", "risk": "medium"}
    assert decision(judge, "write_file", {"path": "a"}, **keys) == "allow"
    assert decision(judge, "delete_file", {"path": "a"}, **keys) == "ask"
    assert decision(judge, "stranger", {}, verdict="allow", effect="read") == "ask"


def test_deny_beats_ask_and_ask_beats_allow_in_both_forms(judge):
    tables = [{"verdict": verdict, "tool": "write_file"} for verdict in ("allow", "ask", "deny")]
    for count, expected in ((1, "allow"), (2, "ask"), (3, "deny")):
        rules = structure(Settings, {"rules": tables[:count]}).rules
        assert str(judge("write_file", {"path": "a"}, rules=rules).decision) == expected
    verdict = judge("write_file", {"path": "a"}, rules=rules[:1], deny=["write_file"])
    assert str(verdict.decision) == "deny"


def test_the_model_reads_the_reason(judge):
    rules = table(tool="bash", pattern="git push *", reason="open a pull request instead")
    verdict = judge("bash", {"command": "git push origin main"}, rules=rules)
    assert verdict.reason == (
        "open a pull request instead (the rule 'bash(git push *)' forbids it)"
    )


def test_a_path_that_a_rule_keeps_from_one_reader_is_kept_from_all(judge, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private/x").touch()
    keys = {"tool": "read_file", "pattern": "private/**"}
    assert decision(judge, "grep", {"path": "private"}, **keys) == "deny"
    assert decision(judge, "bash", {"command": "cat private/x"}, **keys) == "deny"
    assert decision(judge, "grep", {"path": "private"}, **keys | {"mode": "auto"}) == "allow"


@pytest.mark.contract("C13")
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"verdict": "allow", "tool": "bash", "pattern": "git *"},
            "allows too much: git runs what its arguments say",
        ),
        (
            {"verdict": "allow", "tool": "bash", "pattern": "make && make test"},
            "it is compared with the words of one command; write it without '&&'",
        ),
        ({"pattern": "x"}, "a rule needs what it is about"),
        ({"tool": "bash", "arguments": {"a": "b"}}, "rules[0].arguments: no such name"),
        ({"tool": "bash", "pattern": " "}, "has an empty pattern"),
        ({"tool": "a b"}, "is not of the form TOOL"),
        ({"tool": "bash", "patern": "x"}, "rules[0].patern: no such name; did you mean 'pattern'?"),
        ({"tool": "bash", "match": ["x"]}, "rules[0].match: no such name"),
        ({"tool": "bash", "mode": "yolo"}, "rules[0].mode: "),
        (
            {"tool": "bash", "verdict": "forbid"},
            "rules[0].verdict: expected one of 'deny', 'ask', 'allow'",
        ),
        ({"tool": "bash", "expires": "tomorrow"}, "expires: expected a date such as 2030-12-31"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_an_error(keys, message):
    with pytest.raises(BadArguments, match="rules") as raised:
        table(**keys)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Bash(git push *)", "did you mean 'bash'?"),
        ("Read_file(.env)", "did you mean 'read_file'?"),
        ("web_fetch(domain:example.com)", "for the host write 'web_fetch(example.com)'"),
        ("*(host:*.example.com)", "for the host write '*(*.example.com)'"),
    ],
)
def test_a_rule_in_the_form_of_another_program_is_a_mistake_with_the_way_out(text, hint):
    """It would forbid nothing."""
    [(_, line, is_slip)] = Settings(deny=(text,)).remarks({"bash", "read_file", "web_fetch"}, set())
    assert hint in line
    assert is_slip


@pytest.mark.parametrize(
    "text", ["web_fetch(example.com:8080)", "bash(npm run test:a.b)", "web_fetch(http://a.de)"]
)
def test_a_rule_with_a_port_or_a_scheme_is_none(text):
    assert not [*Settings(deny=(text,)).remarks({"bash", "web_fetch"}, set())]
