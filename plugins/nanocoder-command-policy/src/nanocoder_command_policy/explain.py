"""`nanocoder policy explain`: the verdict on a call, and the vote of each policy."""

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any, Final

from nanocoder import (
    Access,
    Decision,
    Host,
    SessionInfo,
    ToolCall,
    Verdict,
    __version__,
    arguments_of,
)

from nanocoder_command_policy.judging import call_of, judging

ACCESS = {
    Access.READ: "runs in the sandbox, read-only",
    Access.WRITE: "runs in the sandbox, writable",
    Access.OUTSIDE: "runs outside the sandbox",
}
_WORD: Final = re.compile(r"[^\s'\"`=<>|;&(){}$]+")
SHOWN = ("decision", "reason", "rule", "source", "plugin")


def run(arguments: Namespace, host: Host) -> int:
    """Judge the call as a session would, without running it."""
    values = arguments_of(arguments.arguments)
    with judging(host) as judge:
        tool = judge.plugins.tool(arguments.tool).real()
        tool.signature.check(values)
        ruled = judge.judge(call_of(tool.name, values, "explained"), agent=arguments.agent)
        hidden = [*_hidden(ruled.call, ruled.verdict, judge.session.info)]
    verdict, rewritten_by = ruled.verdict, ruled.rewritten_by
    rows = [_row(host, each) for each in ruled.votes]
    changed = {"rewritten_by": rewritten_by, "arguments": dict(ruled.call.arguments)}
    if arguments.output == "json":
        facts = {**changed, **_row(host, verdict), "hidden": hidden, "verdicts": rows}
        host.print_json({"tool": tool.name, **facts})
        return 0
    host.print_line(f"{verdict.decision}: {verdict.reason}")
    if rewritten_by:
        host.print_line(f"{rewritten_by} changes the arguments to {changed['arguments']}")
    if verdict.access is not None:
        host.print_line(ACCESS[verdict.access])
    for line in hidden:
        host.print_line(line)
    if verdict.persons > 1:
        host.print_line(f"by {verdict.persons} different people")
    _print_votes(host, verdict, rows)
    return 0


def _hidden(call: ToolCall, verdict: Verdict, session: SessionInfo) -> Iterator[str]:
    """Yield a line for each word that names what the sandbox hides, or keeps, with the reason.

    The command may run all the same, and then finds nothing there, or cannot change it.
    """
    if verdict.decision is Decision.DENY or verdict.access not in {Access.READ, Access.WRITE}:
        return
    texts = " ".join(value for value in call.arguments.values() if isinstance(value, str))
    for word in dict.fromkeys(_WORD.findall(texts)):
        path = session.resolve(word, str(call.arguments.get("workdir", ".")), literal=True)
        if not path.is_inside:
            continue
        if reason := session.readable.refuses(path.path):
            yield f"the sandbox hides {word!r}: {reason}"
        elif reason := session.readable.why_read_only(path.path):
            yield f"the sandbox keeps {word!r} from being changed: {reason}"


def _print_votes(host: Host, verdict: Verdict, rows: list[dict[str, Any]]) -> None:
    head = ["plugin", "version", "decision", "rule", "source", "layer", "reason"]
    if all(row["reason"] in verdict.reason for row in rows):
        head.pop()  # the verdict's reason contains them all
    cells = [[row[name] or ("core" if name == "plugin" else "-") for name in head] for row in rows]
    host.print_table(head, cells)


def _row(host: Host, verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with its plugin's version, and the file, line and layer of its rule."""
    entry = host.plugins.entries.get(verdict.plugin)
    is_setting = verdict.source.startswith("plugins.")
    where = host.config.where(verdict.source, host.settings_classes()) if is_setting else None
    layer = getattr(verdict.source, "layer", "")  # a policy may know it of a rule
    origin: Mapping[str, str] = {"layer": layer}
    if where is not None:
        origin = {"source": str(where), "layer": where.layer}
    facts = {name: str(getattr(verdict, name)) for name in SHOWN}
    duties = {"sandbox": verdict.sandbox, "access": verdict.access, "persons": verdict.persons}
    return {**facts, **duties, "version": entry.version if entry else __version__, **origin}
