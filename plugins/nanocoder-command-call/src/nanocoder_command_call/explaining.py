"""`nanocoder policy explain`: how a session would judge a call, by the very code that it uses."""

from argparse import Namespace
from typing import Any, Final

from attrs import evolve
from nanocoder import Host, ToolCall, Verdict, __version__, verdict_data
from nanocoder_kit_table import print_table

from nanocoder_command_call.arguments import arguments_of

HEAD: Final = ("plugin", "version", "decision", "rule", "source", "layer", "reason")


def run(arguments: Namespace, host: Host) -> int:
    """Judge the call as a session would, without running it."""
    values = arguments_of(arguments.arguments)
    with host.session(persist=False) as session:
        tool = session.plugins.tool(arguments.tool).real()
        tool.signature.check(values)
        call = ToolCall("explained", tool.name, values)
        info = evolve(session.info, agent=arguments.agent)
        judged, verdict, votes, rewritten_by = session.approvals.judge(call, tool, info)
        rows = [_verdict_row(host, vote) for vote in votes]
    changed = {"rewritten_by": rewritten_by, "arguments": dict(judged.arguments)}
    if arguments.output == "json":
        data = {"tool": tool.name, **changed, **_verdict_row(host, verdict), "verdicts": rows}
        host.print_json(data)
        return 0
    host.print_line(f"{verdict.decision}: {verdict.reason}")
    if rewritten_by:
        host.print_line(f"{rewritten_by} changes the arguments to {changed['arguments']}")
    if verdict.sandbox:
        host.print_line("only in a sandbox")
    if verdict.persons > 1:
        host.print_line(f"by {verdict.persons} different people")
    is_said = all(row["reason"] in verdict.reason for row in rows)
    head = HEAD[:-1] if is_said else HEAD  # a reason that stands above is not repeated
    cells = [[row[name] or ("core" if name == "plugin" else "-") for name in head] for row in rows]
    print_table(head, cells)
    return 0


def _verdict_row(host: Host, verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with its plugin's version, and the file, line and layer of its rule."""
    entry = host.plugins.entries.get(verdict.plugin)
    is_setting = verdict.source.startswith("plugins.")
    where = host.config.where(verdict.source, host.settings_classes()) if is_setting else None
    layer = getattr(verdict.source, "layer", "")  # a policy may know it of a rule
    place = {"source": str(where), "layer": where.layer} if where else {"layer": layer}
    return {**verdict_data(verdict), "version": entry.version if entry else __version__, **place}
