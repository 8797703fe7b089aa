"""`nanocoder policy explain TOOL JSON`: the verdict, the rule, where it stands and who said it."""

import argparse

from attrs import evolve

from nanocoder.cli.call import parsed
from nanocoder.cli.command_host import CommandHost
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.path.approval import verdict_data
from nanocoder.values import ToolCall, Verdict


def run(arguments: argparse.Namespace) -> int:
    """Judge the call as a session would, without running it."""
    values = parsed(arguments.arguments)
    host = CommandHost.of(arguments)
    with host.session(persist=False) as session:
        tool = session.plugins.tool(arguments.tool).real()
        tool.signature.check(values)
        session.approvals.session = evolve(session.info, agent=arguments.agent)
        call = ToolCall("explained", tool.name, values)
        verdict = _placed(host, session.approvals.verdict(call, tool))
        everyone = [_placed(host, verdict) for verdict in session.approvals.verdicts(call, tool)]
    if arguments.output == "json":
        data = {"tool": tool.name, **verdict_data(verdict)}
        print_json({**data, "verdicts": [verdict_data(each) for each in everyone]})
        return 0
    print_line(f"{verdict.decision}: {verdict.reason}")
    rows = [
        (
            each.plugin or "core",
            str(each.decision),
            each.rule or "-",
            each.source or "-",
            each.reason,
        )
        for each in everyone
    ]
    print_table(("plugin", "verdict", "rule", "where", "reason"), rows)
    return 0


def _placed(host: CommandHost, verdict: Verdict) -> Verdict:
    """Say where a rule stands: the file and line of the setting that its source names."""
    if not verdict.source.startswith("plugins."):
        return verdict
    return evolve(verdict, source=str(host.config.where(verdict.source)))
