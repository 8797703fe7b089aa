"""The policy acme-policy-branches: nobody pushes to a protected branch, whatever the mode."""

from attrs import field, frozen
from nanocoder import Decision, Effect, Tool, ToolCall, Verdict, hookimpl

from acme_nanocoder_branches.pushes import Unreadable, protected_by, pushed_branches


@frozen
class Settings:
    """The table [plugins.acme-policy-branches]. *protected*: patterns of branches.

    A project's file may add to them and take none away.
    """

    protected: tuple[str, ...] = field(
        default=("main", "master", "release/*"), metadata={"tighten": "union"}
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.acme-policy-branches]."""
    return Settings


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", settings: Settings | None
) -> Verdict | None:
    """Refuse a command that pushes to a protected branch; ask where it cannot be told."""
    command = call.arguments.get("command")
    if Effect.EXECUTE not in tool.effects or not isinstance(command, str):
        return None
    patterns = (settings or Settings()).protected
    try:
        branches = pushed_branches(command)
    except Unreadable as problem:
        return Verdict(Decision.ASK, f"a push whose branch is not plain: {problem}", rule="push")
    for branch in branches:
        pattern = protected_by(branch, patterns)
        if pattern:
            reason = f"the branch {branch!r} is protected; open a merge request instead"
            return Verdict(Decision.DENY, reason, rule=pattern)
    return None
