"""The work on one task: a session in its own workspace, then the check. Runners call `do_job`."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final

from nanocoder import (
    Cancel,
    Cancelled,
    Host,
    NanocoderError,
    ProviderError,
    Session,
    __version__,
    open_session,
)
from nanocoder_kit_redact import Redactor, redact_value

from nanocoder_kit_batch.own_files import write_own
from nanocoder_kit_batch.workspaces import TaskWorkspace, workspace_of

Admit = Callable[[str], AbstractContextManager[object]]

CHECK_S: Final = 600
MAX_DENIED: Final = 20
"""So many refused calls of a task are named in its result."""
REASON_CHARS: Final = 500
MAX_ANSWER_CHARS: Final = 200_000
CHECKED_CHARS: Final = 16_000
"""So much of the answer the check gets; a program's arguments have a limit."""
READ_ANSWER: Final = """\
NANOCODER_ANSWER=$(cat {file}; echo .)
export NANOCODER_ANSWER="${{NANOCODER_ANSWER%.}}"
"""
"""The dot keeps the line breaks at the end, which the shell would take away."""
SHELL: Final = "bash"
NO_USAGE: Final = dict.fromkeys(
    ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), 0
)


def do_job(job: dict[str, Any], cancel: Cancel, admit: Admit) -> dict[str, Any]:
    """Work on one task and return its result, ready for JSON, with its artifacts by name.

    A failure of the task is a result. Raises: Cancelled, and then nothing counts.
    """
    began, artifacts = time.monotonic(), dict[str, str]()
    result = {
        "id": job["id"],
        "key": job["key"],
        "stop_reason": "failed",
        "checked": None,
        "usage": NO_USAGE,
        "cost": None,
        "files_changed": [],
        "error": None,
        **{name: job[name] for name in ("model", "mode", "set", "seed")},
    }
    try:
        with workspace_of(job) as workspace:
            result |= _outcome(job, workspace, cancel, admit, artifacts)
    except Cancelled:
        raise
    except (NanocoderError, OSError) as error:
        result |= _failed(error)
    cancel.check()
    result["error"] = redact_value(result["error"], Redactor())
    place = {"worker": f"{socket.gethostname()}:{os.getpid()}", "nanocoder": __version__}
    result |= {"seconds": round(time.monotonic() - began, 4), **place}
    return {"result": result, "artifacts": artifacts}


def _failed(error: NanocoderError | OSError) -> dict[str, Any]:
    """Return what a session's report would say of an error before its first event."""
    row = {"class": getattr(error, "error_class", "io_error"), "message": str(error)}
    if isinstance(error, ProviderError):
        return {"stop_reason": "provider_error", "error": {**row, "kind": error.kind}}
    return {"error": row}


def _outcome(
    job: dict[str, Any],
    workspace: TaskWorkspace,
    cancel: Cancel,
    admit: Admit,
    artifacts: dict[str, str],
) -> dict[str, Any]:
    report = _run(job, workspace, cancel, admit)
    cancel.check()
    paths = workspace.changed()
    redact = Redactor().redact
    artifacts["answer.txt"] = redact(report["text"])[:MAX_ANSWER_CHARS]
    if paths:
        artifacts["changes.patch"] = workspace.patch(paths)
    checked, output = _check(job, workspace, cancel, report["text"]) if job["check"] else (None, "")
    if output:
        artifacts["check.txt"] = redact(output)
    names = ("stop_reason", "usage", "cost", "error", "turns", "session_id")
    return {
        **{name: report[name] for name in names},
        "model": report["model"] or job["model"],
        "checked": checked,
        "files_changed": paths,
        "tool_calls": len(report["tool_calls"]),
        "denials": len(report["denials"]),
        "denied": [_denied(row) for row in report["denials"][:MAX_DENIED]],
    }


def _denied(row: Mapping[str, Any]) -> dict[str, str]:
    """Return which call was refused and why, without secrets."""
    return {"tool": row["tool"], "reason": Redactor().redact(row["reason"])[:REASON_CHARS]}


def _run(
    job: dict[str, Any], workspace: TaskWorkspace, cancel: Cancel, admit: Admit
) -> Mapping[str, Any]:
    """Run the prompt and return the report of the session; raises NanocoderError."""
    flags = {"model": job["model"], "mode": job["mode"], **job["budget"]}
    opened = _session(workspace, flags, name_of_set=job["set"], persist=True)
    with opened as session, _interrupted_by(cancel, session), ExitStack() as place:
        for event in session.run(job["prompt"]):
            # The request is sent when the next event is asked for. Sub-agents share the place.
            if event.kind == "request.started":
                place.pop_all().close()
                place.enter_context(admit(str(event.data["model"]).partition("/")[0]))
            elif event.kind in {"request.finished", "run.finished"}:
                place.pop_all().close()
        return session.report.data()


def _check(
    job: dict[str, Any], workspace: TaskWorkspace, cancel: Cancel, answer: str
) -> tuple[bool, str]:
    """Run the task's check as if a person had typed it; return whether it passed, and its output.

    It takes the path of each call: deny rules hold, and it runs in the sandbox.
    """
    seed = "" if job["seed"] is None else f"export NANOCODER_SEED={job['seed']}\n"
    # In a file: policies judge the words of the command, and the answer's are none of them.
    file = f".nanocoder-answer-{os.urandom(4).hex()}"
    text = answer[:CHECKED_CHARS].replace("\0", "")
    write_own(workspace.folder, file, [text.encode("utf-8", "surrogateescape")])
    command = f"{seed}{READ_ANSWER.format(file=file)}{job['check']}"
    arguments = {"command": command, "timeout": CHECK_S}
    opened = _session(workspace, {"mode": "auto", "call_timeout_s": 0.0}, persist=False)
    with opened as session, _interrupted_by(cancel, session):
        for _ in session.call(SHELL, arguments, typed=True):
            pass
        result = session.result
    cancel.check()
    return (False, "") if result is None else (not result.is_error, result.output)


@contextmanager
def _session(
    workspace: TaskWorkspace, flags: Mapping[str, Any], *, name_of_set: str = "", persist: bool
) -> Iterator[Session]:
    """Open a session in *workspace*.

    The settings of the copied directory hold, as far as they tighten, and so do rules for it.
    """
    host = Host(str(workspace.source), **flags)
    # What a task makes of a copy has no trust.
    config = host.config = host.config.reread(trusted=False)
    plugins = host.plugins
    if name_of_set:
        host.restrict_to_set(name_of_set)
    with open_session(
        workspace.folder, config=config, plugins=plugins, output="json", persist=persist
    ) as session:
        copied = workspace.own_folders()
        own = (*session.info.own_folders, *copied)
        session.set_info(origins=(workspace.source,), own_folders=own)
        yield session


@contextmanager
def _interrupted_by(cancel: Cancel, session: Session) -> Iterator[None]:
    forget = cancel.on_set(lambda: session.interrupt(cancel.reason))
    try:
        yield
    finally:
        forget()
