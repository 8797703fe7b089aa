"""`nanocoder trace CALL_ID`: the six stages of one call, each with how it ended and its time."""

import argparse
import time

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.session.store import SessionStore
from nanocoder.session.tracing import Stage, trace


def run(arguments: argparse.Namespace) -> int:
    """Print the stages of one call of a session."""
    host = Host(arguments.cwd)
    store = SessionStore.of_user(warn=host.say)
    session = _session(store, host, arguments.session)
    found = trace(store.records(session), arguments.call)
    if arguments.output == "json":
        stages = [stage.data() for stage in found.stages]
        about = {"session": session, "call": found.call_id, "tool": found.tool}
        print_json({**about, "status": found.status, "at": found.at, "stages": stages})
        return 0
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.at))
    print_line(f"{found.tool} {found.call_id}: {found.status}, {at}, session {session}")
    print_table(("stage", "status", "began", "took", ""), [_cells(one) for one in found.stages])
    return 0


def _session(store: SessionStore, host: Host, wanted: str) -> str:
    """Return the session that is meant; the last one of the directory may be a single call."""
    if wanted == "last":
        wanted = next((one.id for one in store.worked_in(host.cwd)), wanted)
    return store.find(wanted, cwd=host.cwd)


def _cells(stage: Stage) -> tuple[str, ...]:
    told = ", ".join(filter(None, (stage.error_class, stage.note)))
    return (stage.name, stage.status, _shown(stage.at_ms), _shown(stage.ms), told)


def _shown(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds:,.2f} ms"
