"""The table [plugins.policy-rules], its rules checked: their examples, and whether they count."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from nanocoder_policy_rules.settings import UncheckedSettings

if TYPE_CHECKING:
    from pathlib import Path

    from nanocoder_policy_rules.rule_tables import Example
    from nanocoder_policy_rules.rules import Rule

_MAIN_ARGUMENTS: Final = ("path", "url", "query")
_SURELY: Final = 0.8
"""How like a name has to be to one that exists for it to be a slip, from 0 to 1."""
Remark = tuple[object, str, bool]

# Every start imports this module, and few settings have rules: what judges is imported for these.


@frozen(eq=False, repr=False, slots=False)
class Settings(UncheckedSettings):  # noqa: D101
    __doc__ = UncheckedSettings.__doc__  # people read there what each setting is

    def check_examples(self, rule: "Rule") -> None:
        """Raise ValueError for a rule that does not treat an example as it says.

        The code that judges calls judges the examples, in an empty workspace.
        """
        if not rule.table.match and not rule.table.not_match:
            return
        from pathlib import Path
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="nanocoder-") as folder:
            problem = next(_wrong_examples(rule, Path(folder)), "")
        if problem:
            raise ValueError(f"the rule {rule.text!r} {problem}")

    def remarks(self, tools: Collection[str], plugins: Collection[str]) -> Iterator[Remark]:
        """Yield the rules that have no effect: where each is, why, and whether it is a slip."""
        if not (self.deny or self.ask or self.allow or self.rules):
            return
        from nanocoder_policy_rules.rules import rules_of

        counted = {rule.text for rule in self.rules_that("allow")}
        for rule in rules_of("allow", self.allow, self.rules):
            if rule.text not in counted:
                line = f"the rule {rule.text!r} does not count: this file may not allow anything"
                yield rule.table.origin(), line, False
        for verdict in ("deny", "ask", "allow"):
            for rule in {rule.text: rule for rule in self.rules_that(verdict)}.values():
                yield from _remarks(rule, tools, plugins)


def _remarks(rule: "Rule", tools: Collection[str], plugins: Collection[str]) -> Iterator[Remark]:
    from datetime import datetime
    from fnmatch import filter as matching

    from nanocoder import did_you_mean

    table = rule.table
    if rule.is_expired(datetime.now().astimezone()):
        line = f"the rule {rule.text!r} expired on {table.expires} and no longer counts"
        yield table.origin(), line, False
        return
    for kind, name, names in (("tool", rule.tool, tools), ("plugin", table.plugin, plugins)):
        if name and not matching(names, name):
            hint = did_you_mean(name, names, cutoff=_SURELY)
            line = f"{rule.text!r} is about the {kind} {name!r}, which is not installed{hint}"
            yield table.origin(), line, bool(hint)


def _wrong_examples(rule: "Rule", folder: "Path") -> Iterator[str]:
    """Yield what is wrong with each example that *rule* does not treat as it says."""
    for example in rule.table.match:
        if not any(_fits(rule, arguments, folder) for arguments in _calls(rule, example)):
            yield f"does not fit its `match` example {example!r}"
    for example in rule.table.not_match:
        if any(_fits(rule, arguments, folder) for arguments in _calls(rule, example)):
            yield f"fits its `not_match` example {example!r}"


def _calls(rule: "Rule", example: "Example") -> Iterator[Mapping[str, Any]]:
    """Yield the arguments that an example stands for; a text is the main one, whatever its name."""
    if not isinstance(example, str):
        yield example
    elif rule.arguments:
        yield dict.fromkeys(rule.arguments, example)
    elif rule.tool == "bash":
        yield {"command": example}
    else:
        yield from ({name: example} for name in _MAIN_ARGUMENTS)


def _fits(rule: "Rule", arguments: Mapping[str, Any], folder: "Path") -> bool:
    from nanocoder import SessionInfo, ToolCall, tool

    from nanocoder_policy_rules import rule_matching, unasked
    from nanocoder_policy_rules.call_context import CallContext

    name = "bash" if "command" in arguments and rule.names("bash") else rule.tool
    # Judging reads nothing of the tool that an example does not have.
    any_tool = tool(name="any", description="Any.", risk="destructive", effects=())(lambda: "")
    session = SessionInfo("examples", folder)
    call = ToolCall("example", name, arguments)
    context = CallContext(call, any_tool, session, UncheckedSettings())
    if not rule.allows:
        return rule_matching.forbids(rule, context) is rule_matching.Match.YES
    if context.command:
        return rule.fits_any or unasked.covering_rule([rule], context) is not None
    return rule_matching.allows(rule, context)
