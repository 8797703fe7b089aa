"""Modes and rules: which calls a tool may make, which need a person, which never run."""

from collections.abc import Mapping

from nanocoder import PathFilter, SessionInfo, Tool, ToolCall, Verdict, hookimpl

from nanocoder_policy_rules.settings import Settings

# Every start imports this module, and many prompts are answered without a call: what judges is
# imported at the first one. Should that fail, the call is denied.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-rules]."""
    return Settings


@hookimpl
def nanocoder_readable(
    tools: "Mapping[str, Tool[..., object]]", session: SessionInfo, settings: Settings | None
) -> PathFilter:
    """Keep secrets, and what a rule keeps from one tool that reads, from all of them."""
    from nanocoder_policy_rules.readable import ReadingRules

    return ReadingRules(session, settings or Settings(), tools)


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings | None
) -> Verdict:
    """Judge a call by its effects, its arguments, the session's mode and the rules."""
    from nanocoder_policy_rules.case import Case
    from nanocoder_policy_rules.judge import judge

    return judge(Case(call, tool, session, settings or Settings()))
