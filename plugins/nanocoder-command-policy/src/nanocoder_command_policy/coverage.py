"""`nanocoder policy coverage`: the rules that decide on each tool, and rules that never do."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import frozen
from nanocoder import Host, ToolCall, Verdict
from nanocoder_kit_files.table import print_table

from nanocoder_command_policy.covered_tools import Group, covered_tools, examples
from nanocoder_command_policy.judging import Judge, judging
from nanocoder_command_policy.listed_rules import ListedRule, RuleList, calls_of_rule
from nanocoder_command_policy.stored_calls import calls_of_all_sessions
from nanocoder_command_policy.typical_calls import MODES, typical_calls

NO_RULE: Final = "no rule"
NEVER_HIT: Final = "never hit"
_USELESS: Final = ("dead", "shadowed")
_ADVICE: Final = {
    "dead": "dead: no installed tool has this name. Correct the name, or remove the rule.",
    "shadowed": (
        "shadowed: something else decides about each known call that the rule fits. Remove the "
        "rule, or narrow what wins if the rule should decide."
    ),
    NEVER_HIT: "never hit: no stored call fits the rule. Keep it if it forbids something rare.",
}


@frozen
class Finding:
    """One gap: its *kind*, the rule or tool as *subject*, and its meaning."""

    kind: str
    subject: str
    meaning: str
    where: str = ""


def run(arguments: Namespace, host: Host) -> int:
    """Print the coverage of the tools, and the gaps; return 1 if a rule can never decide."""
    stored = [stored.call for stored in calls_of_all_sessions(host)]
    with judging(host) as judge:
        groups = covered_tools(judge)
        findings = [
            Finding(it.kind, it.subject, it.meaning, str(host.config.where(it.where)))
            if it.where
            else it
            for it in gaps(judge, stored)
        ]
    if arguments.output == "json":
        names = ("kind", "subject", "meaning", "where")
        rows = [{name: getattr(it, name) for name in names} for it in findings]
        tools = [group.data() for group in groups]
        host.print_json({"stored_calls": len(stored), "tools": tools, "findings": rows})
        return int(any(it.kind in _USELESS for it in findings))
    # Without a stored session it would be reported for each rule.
    left_out = {NO_RULE} if stored else {NO_RULE, NEVER_HIT}
    _print(host, groups, [it for it in findings if it.kind not in left_out])
    host.print_line(_looked_at(len(stored)))
    return int(any(it.kind in _USELESS for it in findings))


def _looked_at(stored: int) -> str:
    if stored:
        return f"({stored} calls of stored sessions were examined)"
    return "(no session is stored here, so rules that no call has hit are not listed)"


def _print(host: Host, groups: Iterable[Group], findings: Iterable[Finding]) -> None:
    head = ("effects", *(f"mode {mode}" for mode in MODES), "rules", "tools")
    print_table(head, [group.cells() for group in groups])
    host.print_line("")
    rows = [(it.kind, it.subject, it.where or "-", it.meaning) for it in findings]
    if rows:
        print_table(("gap", "rule", "where", "meaning"), rows)
        host.print_line("")
        for kind in dict.fromkeys(it.kind for it in findings):
            host.print_line(_ADVICE[kind])
    else:
        host.print_line("No rule without effect: every rule decides about a call.")


def gaps(judge: Judge, stored: Iterable[ToolCall]) -> Iterator[Finding]:
    """Yield the gaps: first the tools without a rule, then the rules that never decide."""
    rules, tools = RuleList(judge), sorted(judge.plugins.tools())
    stored = _once(stored)
    samples = [*stored, *examples(judge), *(call for call, _ in typical_calls(tools, ""))]
    for tool in tools:
        if not any(rule.names(tool) for rule in rules.rules):
            yield Finding(NO_RULE, tool, "the mode and the tool's rating decide")
    for rule in rules.rules:
        calls = (*samples, *calls_of_rule(rule, judge.plugins.tools()))
        fitting = [(call, alone) for call in calls if (alone := rules.verdict_alone(rule, call))]
        is_hit = any(call in stored for call, _ in fitting)
        yield from _gaps_of(rule, judge, fitting, is_hit=is_hit)


def _gaps_of(
    rule: ListedRule, judge: Judge, fitting: list[tuple[ToolCall, Verdict]], *, is_hit: bool
) -> Iterator[Finding]:
    if not fitting and not any(rule.names(tool) for tool in judge.plugins.tools()):
        yield Finding("dead", rule.text, "no tool has this name", rule.key)
        return
    winners = [_winner(judge, call, rule, alone) for call, alone in fitting]
    if fitting and all(winners):
        yield Finding("shadowed", rule.text, f"never decides: {winners[0]}", rule.key)
    elif not is_hit:
        yield Finding(NEVER_HIT, rule.text, "no call of a stored session fits it", rule.key)


def _winner(judge: Judge, call: ToolCall, rule: ListedRule, alone: Verdict) -> str:
    """Return the rule or plugin that overrides *rule* for *call* in every mode, or ""."""
    winner, own_mode = "", str(judge.session.info.mode)
    # The session's own mode comes last and is reported, as by `policy explain`.
    for mode in sorted(MODES, key=own_mode.__eq__):
        ruled = judge.judge(call, mode=mode)
        own = next((vote for vote in ruled.votes if vote.plugin == rule.plugin), ruled.verdict)
        if (own.rule, own.decision) != (alone.rule, alone.decision):
            name = f"the rule {own.rule!r}" if own.rule else f"{own.reason!r}"
            winner = f"{name} wins ({own.decision})"
        elif ruled.verdict.decision is own.decision:
            return ""
        else:
            winner = f"{ruled.verdict.plugin} wins ({ruled.verdict.decision})"
    return winner


def _once(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Return the distinct calls, without their ids."""
    return list(
        {
            (c.name, repr(c.arguments)): ToolCall("stored", c.name, c.arguments) for c in calls
        }.values()
    )
