"""`nanocoder trace CALL_ID`: the six stages of one call, each with how it ended and its time."""

import time
from argparse import Namespace

from nanocoder import Host
from nanocoder_kit_files.table import print_table
from nanocoder_kit_sessions import session_store, sessions_with_work

from nanocoder_command_observe.call_trace import Stage, trace


def run(arguments: Namespace, host: Host) -> int:
    """Print the stages of one call of a session."""
    session_id = _session(host, arguments.session)
    call = trace(session_store(host).records(session_id), arguments.call)
    if arguments.output == "json":
        stages = [stage.data() for stage in call.stages]
        names = {"session": session_id, "call": call.call_id, "tool": call.tool}
        host.print_json({**names, "status": call.status, "at": call.at, "stages": stages})
        return 0
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(call.at))
    host.print_line(f"{call.tool} {call.call_id}: {call.status}, {at}, session {session_id}")
    print_table(("stage", "status", "began", "took", ""), [*map(_cells, call.stages)])
    return 0


def _session(host: Host, name: str) -> str:
    """Return the session that is meant; the last one of the directory may be a single call."""
    if name == "last":
        summaries = sessions_with_work(session_store(host), host.cwd)
        name = next((summary.id for summary in summaries), name)
    return session_store(host).find(name, cwd=host.cwd)


def _cells(stage: Stage) -> tuple[str, ...]:
    note = ", ".join(filter(None, (stage.error_class, stage.note)))
    times = (_milliseconds(stage.at_ms), _milliseconds(stage.ms))
    return (stage.name, stage.status, *times, note)


def _milliseconds(duration: float | None) -> str:
    return "" if duration is None else f"{duration:,.2f} ms"
