"""Say which part of a shell command cannot be vouched for, and deny some kinds of parts.

It never allows: it denies, asks about a command that is too long to be read, or abstains with a
remark. So no misreading of a command can loosen what other policies say.
"""

from typing import Any

from nanocoder import Tool, ToolCall, Verdict, hookimpl

from nanocoder_policy_shell.settings import Settings

# Every start imports this module: the parser is loaded at the first command.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-shell]."""
    return Settings


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., Any]", settings: Settings | None
) -> Verdict | None:
    """Judge the commands among a call's arguments; None where there are none."""
    from nanocoder_policy_shell.judge import commands_of, judge

    verdicts = [judge(text, settings or Settings()) for text in commands_of(call, tool)]
    opinions = [verdict for verdict in verdicts if verdict is not None]
    return max(opinions, key=_strictness, default=None)


def _strictness(verdict: Verdict) -> int:
    return ("abstain", "ask", "deny").index(verdict.decision)
