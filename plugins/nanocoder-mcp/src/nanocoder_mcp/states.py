"""The state of each server, from its review and its last error."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import counted, one_line

from nanocoder_mcp import records
from nanocoder_mcp.configured import ServerSettings, configured
from nanocoder_mcp.server import Server

HEAD: Final = ("server", "state", "tools", "tokens", "from", "starts")
"""Columns of the table of servers, in this order."""
READY: Final = "ready"
NAMES_CHARS: Final = 400


def checks_of(
    settings: ServerSettings, trusted_folder: Path | None
) -> Iterator[tuple[str, str, str]]:
    """Yield name, status and detail of each server; a dead one is no failure of nanocoder."""
    every = configured(settings, trusted_folder)
    for server in every.servers.values():
        row = state_of(server)
        size = f"{counted(row['tools'], 'tool')}, {counted(row['tokens'], 'token')}"
        is_sound = row["state"] == READY and not row["problem"]
        detail = "; ".join(filter(None, [row["state"], size, row["problem"]]))
        yield f"mcp {server.name}", "ok" if is_sound else "note", detail
    yield from (("mcp", "note", problem) for problem in every.problems)


def state_of(server: Server) -> dict[str, Any]:
    """Return the row of *server* in the table; the server need not run."""
    record = records.read(server)
    state = READY
    if not record.agrees_to(server):
        state = "changed: review it" if record.launch else "not reviewed"
    elif record.pending is not None:
        state = "held back: review it"
    return {
        "server": server.name,
        "state": state,
        "tools": len(record.tools),
        "tokens": sum(tool["tokens"] for tool in record.tools),
        "from": "yours" if server.folder is None else "this project",
        "starts": server.starts_with,
        "problem": record.problem,
        "left_out": dict(record.left_out),
    }


def left_out_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each reason why tools of a server are not offered, with their names."""
    by_reason: dict[str, list[str]] = {}
    for name, why in state["left_out"].items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        listed = one_line(", ".join(names), NAMES_CHARS)
        yield f"{state['server']}: {counted(len(names), 'tool')} left out ({listed}): {why}"
