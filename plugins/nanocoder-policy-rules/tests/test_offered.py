"""A tool that a rule denies whatever its arguments are is not offered to the model."""

import nanocoder_policy_rules as plugin
import pytest
from nanocoder import Mode, Request, SessionInfo, ToolDefinition, hookimpl, tool
from nanocoder_kit_files.redact import Redactor
from nanocoder_policy_rules import Settings, nanocoder_before_request
from nanocoder_policy_rules.offered import Offered
from nanocoder_policy_rules.redaction import RedactedMessages
from nanocoder_policy_rules.rule_tables import RuleTable
from nanocoder_testing import opened


@tool(risk="safe", effects={"read"})
def look(path: str = ".") -> str:
    """Look at a path."""
    return path


class Own:
    """A plugin with one tool."""

    @hookimpl
    def nanocoder_tools(self):
        return [look]


TOOLS = tuple(
    ToolDefinition(name, "", {}, plugin)
    for name, plugin in (("read_file", "tool-read"), ("bash", "tool-bash"), ("mcp_x", "mcp"))
)


def offered(tmp_path, settings, offer=None, **session):
    request = Request("m", "", (), TOOLS)
    info = SessionInfo("s", tmp_path, **session)
    kept = {"offered": offer or Offered(), "messages": RedactedMessages(Redactor({}))}
    reduced = nanocoder_before_request(request, info, settings, kept.__getitem__)
    return (reduced or request).tools


@pytest.mark.contract("C6")
@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("bash", ["read_file", "mcp_x"]),
        ("bash(*)", ["read_file", "mcp_x"]),
        ("mcp_*", ["read_file", "bash"]),
        ("bash(git push *)", ["read_file", "bash", "mcp_x"]),
        ("read_file(private/**)", ["read_file", "bash", "mcp_x"]),
        ("bash @review", ["read_file", "bash", "mcp_x"]),
        ("*", []),
    ],
)
def test_a_tool_that_can_never_be_called_is_left_out(tmp_path, rule, names):
    assert [each.name for each in offered(tmp_path, Settings(deny=(rule,)))] == names


@pytest.mark.contract("C6")
def test_a_rule_with_a_condition_leaves_it_out_only_where_it_holds(tmp_path):
    table = RuleTable("deny", plugin="mcp", mode="auto")
    settings = Settings(rules=(table,), deny=("bash @review",))
    assert len(offered(tmp_path, settings)) == 3
    assert len(offered(tmp_path, settings, mode=Mode.AUTO)) == 2
    assert len(offered(tmp_path, settings, agent="review")) == 2


@pytest.mark.contract("C6")
def test_a_rule_by_effect_or_that_asks_leaves_the_tool(tmp_path):
    table = RuleTable("deny", effect="execute")
    assert offered(tmp_path, Settings(rules=(table,), ask=("bash",))) is TOOLS
    assert offered(tmp_path, Settings()) is TOOLS


@pytest.mark.contract("C6")
def test_no_request_of_a_session_has_a_denied_tool(tmp_path):
    def session_with(**settings):
        kept = {"policy-rules": Settings(**settings)}
        with opened(
            tmp_path, ["Done."], plugins={"policy-rules": plugin, "own": Own()}, settings=kept
        ) as (
            session,
            model,
        ):
            list(session.run("go"))
        return [each.name for each in model.requests[0].tools]

    assert session_with() == ["look"]
    assert session_with(deny=("look(private/**)",)) == ["look"]
    assert session_with(deny=("look",)) == []


def test_the_tools_are_the_same_object_from_request_to_request(tmp_path):
    keeper, settings = Offered(), Settings(deny=("bash",))
    first = offered(tmp_path, settings, keeper)
    assert offered(tmp_path, settings, keeper) is first
