"""The policy for each tool: the rules that name it, and the verdict in each mode."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import ToolCall

from nanocoder_command_policy.judging import Judge
from nanocoder_command_policy.listed_rules import RuleList
from nanocoder_command_policy.sample_arguments import sample_of
from nanocoder_command_policy.typical_calls import MODES, typical_calls

UNDECLARED: Final = "undeclared"
UNKNOWN: Final = "?"
_ORDER: Final = ("read", "write", "execute", "network")


@frozen
class Group:
    """Tools of the same *effects* about which the same *rules* and verdicts decide.

    *verdicts* has those of the tools' examples for each mode, the loosest first.
    """

    effects: tuple[str, ...]
    verdicts: tuple[tuple[str, ...], ...]
    rules: tuple[str, ...]
    tools: tuple[str, ...] = ()

    def cells(self) -> tuple[str, ...]:
        """Return the group as a line of a table."""
        modes = (" or ".join(verdicts) or UNKNOWN for verdicts in self.verdicts)
        effects = " ".join(self.effects) or UNDECLARED
        return (effects, *modes, ", ".join(self.rules) or "-", ", ".join(self.tools))

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        verdicts = dict(zip(MODES, self.verdicts, strict=True))
        names = ("effects", "rules", "tools")
        return {**{name: getattr(self, name) for name in names}, "verdicts": verdicts}


def covered_tools(judge: Judge) -> list[Group]:
    """Return all tools in groups, those with the fewest effects first."""
    rules, tools = RuleList(judge).rules, judge.plugins.tools()
    samples = _samples(judge)
    groups = defaultdict[Group, list[str]](list)
    for name in sorted(tools):
        effects = {str(effect) for effect in tools[name].effects}
        ordered = tuple(effect for effect in _ORDER if effect in effects)
        verdicts = tuple(_decisions(judge, samples[name], mode) for mode in MODES)
        named = dict.fromkeys(rule.text for rule in rules if rule.names(name))
        groups[Group(ordered, verdicts, tuple(named))].append(name)
    result = [evolve(group, tools=tuple(names)) for group, names in groups.items()]
    return sorted(result, key=lambda it: (_rank(it.effects), it.verdicts))


def examples(judge: Judge) -> Iterator[ToolCall]:
    """Yield the calls that tools show as examples of their use."""
    for tool in judge.plugins.tools().values():
        for example in tool.examples:
            yield ToolCall("example", tool.name, dict(example))


def _samples(judge: Judge) -> dict[str, list[ToolCall]]:
    samples = defaultdict[str, list[ToolCall]](list)
    typical = (call for call, _ in typical_calls(judge.plugins.tools(), ""))
    for call in (*examples(judge), *typical):
        samples[call.name].append(call)
    for name, tool in judge.plugins.tools().items():
        if not samples[name]:  # as those of servers, which show no examples
            samples[name].append(ToolCall("sample", name, sample_of(tool.signature.json_schema)))
    return samples


def _decisions(judge: Judge, calls: Iterable[ToolCall], mode: str) -> tuple[str, ...]:
    """Return the distinct decisions on *calls* in *mode*."""
    ruled = [judge.judge(call, mode=mode) for call in calls]
    decisions = {it.decision for it in ruled if not it.problem}
    return tuple(decision for decision in ("allow", "ask", "deny") if decision in decisions)


def _rank(effects: tuple[str, ...]) -> tuple[int, ...]:
    """Return the sort key of effects: by the strongest, undeclared ones last."""
    order = [_ORDER.index(effect) for effect in effects]
    return (max(order, default=len(_ORDER)), *order)
