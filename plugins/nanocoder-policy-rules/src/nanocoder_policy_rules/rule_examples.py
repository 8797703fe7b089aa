"""The examples of a rule: calls that it has to fit, and calls that it must not fit.

The code that judges calls judges them, in an empty workspace.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from attrs import frozen
from nanocoder import Effect, Risk, SessionInfo, Tool, ToolCall

from nanocoder_policy_rules import coverage, rule_matching
from nanocoder_policy_rules.call_context import CallContext
from nanocoder_policy_rules.rule_matching import Match
from nanocoder_policy_rules.rules import SHELL, Rule
from nanocoder_policy_rules.settings import UncheckedSettings as Settings

Example = str | Mapping[str, Any]
_MAIN_ARGUMENTS: Final = ("path", "url", "query")


@frozen
class ExampleTool:
    """What judging asks about the tool of an example."""

    name: str
    effects: frozenset[Effect] = frozenset()
    risk: Risk = Risk.DESTRUCTIVE
    plugin: str = ""
    commands: tuple[str, ...] = ()
    composed_of: tuple[str, ...] = ()
    is_read_only: bool = False


def check(rule: Rule, match: Sequence[Example], not_match: Sequence[Example]) -> None:
    """Raise ValueError for an example that *rule* does not treat as it says."""
    with TemporaryDirectory(prefix="nanocoder-") as folder:
        session = SessionInfo("examples", Path(folder))
        for example in match:
            if not _fits(rule, example, session):
                problem = f"does not fit its `match` example {example!r}"
                raise ValueError(f"the rule {rule.text!r} {problem}")
        for example in not_match:
            if _fits(rule, example, session):
                problem = f"fits its `not_match` example {example!r}"
                raise ValueError(f"the rule {rule.text!r} {problem}")


def _fits(rule: Rule, example: Example, session: SessionInfo) -> bool:
    return any(_fits_arguments(rule, arguments, session) for arguments in _calls(rule, example))


def _calls(rule: Rule, example: Example) -> Iterator[Mapping[str, Any]]:
    """Yield the arguments that an example stands for; a text is the main one, whatever its name."""
    if not isinstance(example, str):
        yield example
    elif rule.arguments:
        yield dict.fromkeys(rule.arguments, example)
    elif rule.tool == SHELL:
        yield {"command": example}
    else:
        yield from ({name: example} for name in _MAIN_ARGUMENTS)


def _fits_arguments(rule: Rule, arguments: Mapping[str, Any], session: SessionInfo) -> bool:
    name = SHELL if "command" in arguments and rule.names(SHELL) else rule.tool
    # Judging reads nothing of the tool that an example does not have.
    tool = cast("Tool[..., Any]", ExampleTool(name))
    context = CallContext(ToolCall("example", name, arguments), tool, session, Settings())
    if not rule.allows:
        return rule_matching.forbids(rule, context) is Match.YES
    if context.command:
        return rule.fits_any or coverage.covering_rule([rule], context) is not None
    return rule_matching.allows(rule, context)
