"""`nanocoder policy explain`: the verdict on a call, and the vote of each policy."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from nanocoder import Access, Host, Verdict, __version__, explained

ACCESS = {
    Access.READ: "runs in the sandbox, read-only",
    Access.WRITE: "runs in the sandbox, writable",
    Access.OUTSIDE: "runs outside the sandbox",
}
SHOWN = ("decision", "reason", "rule", "source", "plugin")


def run(arguments: Namespace, host: Host) -> int:
    """Judge the call as a session would, without running it."""
    judged, verdict, votes, rewritten_by = explained(arguments, host)
    rows = [_row(host, each) for each in votes]
    changed = {"rewritten_by": rewritten_by, "arguments": dict(judged.arguments)}
    if arguments.output == "json":
        host.print_json({"tool": judged.name, **changed, **_row(host, verdict), "verdicts": rows})
        return 0
    host.print_line(f"{verdict.decision}: {verdict.reason}")
    if rewritten_by:
        host.print_line(f"{rewritten_by} changes the arguments to {changed['arguments']}")
    if verdict.access is not None:
        host.print_line(ACCESS[verdict.access])
    if verdict.persons > 1:
        host.print_line(f"by {verdict.persons} different people")
    _print_votes(host, verdict, rows)
    return 0


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
