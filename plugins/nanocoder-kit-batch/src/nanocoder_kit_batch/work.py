"""The work on one task: a session in its own workspace, then the check. Runners call `do_job`."""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from nanocoder_kit_files.redact import Redactor, redact_value

from nanocoder_kit_batch.functions import replace_tools
from nanocoder_kit_batch.own_files import write_own
from nanocoder_kit_batch.workspaces import TaskWorkspace, workspace_of

Admit = Callable[[str], AbstractContextManager[object]]

CHECK_S: Final = 600
MAX_DENIED: Final = 20
"""Limit of the denied calls in a task's result."""
REASON_CHARS: Final = 500
MAX_ANSWER_CHARS: Final = 200_000
CHECKED_CHARS: Final = 16_000
"""Limit of the answer for the check; a program's arguments are limited."""
READ_WRITTEN: Final = """\
NANOCODER_ANSWER=$(cat {answer}; echo .)
export NANOCODER_ANSWER="${{NANOCODER_ANSWER%.}}"
export NANOCODER_CALLS="$(cat {calls})"
"""
"""The dot preserves trailing line breaks, which the shell would strip."""
SHELL: Final = "bash"
NO_USAGE: Final = dict.fromkeys(
    ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), 0
)


def do_job(job: dict[str, Any], cancel: Cancel, admit: Admit) -> dict[str, Any]:
    """Work on one task and return its result, ready for JSON, with its artifacts by name.

    A failure of the task is a result. Raises: Cancelled, without a result.
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
    origin = {"worker": f"{socket.gethostname()}:{os.getpid()}", "nanocoder": __version__}
    result |= {"seconds": round(time.monotonic() - began, 4), **origin}
    return {"result": result, "artifacts": artifacts}


def _failed(error: NanocoderError | OSError) -> dict[str, Any]:
    """Return the report of a session that failed before its first event."""
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
    calls = list[dict[str, Any]]()
    report = _run(job, workspace, cancel, admit, calls)
    cancel.check()
    paths = workspace.changed()
    redact = Redactor().redact
    artifacts["answer.txt"] = redact(report["text"])[:MAX_ANSWER_CHARS]
    if paths:
        artifacts["changes.patch"] = workspace.patch(paths)
    checked, output = None, ""
    if job["check"]:
        checked, output = _check(job, workspace, cancel, _texts_for_check(report["text"], calls))
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
    """Return the tool and the redacted reason of a denied call."""
    return {"tool": row["tool"], "reason": Redactor().redact(row["reason"])[:REASON_CHARS]}


def _texts_for_check(answer: str, calls: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the texts that a check reads: the answer, and the calls of the task's functions."""
    first = list(calls)
    while len(json.dumps(first)) > CHECKED_CHARS:
        first.pop()
    return {"answer": answer[:CHECKED_CHARS], "calls": json.dumps(first)}


def _run(
    job: dict[str, Any],
    workspace: TaskWorkspace,
    cancel: Cancel,
    admit: Admit,
    calls: list[dict[str, Any]],
) -> Mapping[str, Any]:
    """Run the prompt and return the report of the session; raises NanocoderError.

    The calls of the task's functions are added to *calls*.
    """
    flags = {"model": job["model"], "mode": job["mode"], **job["budget"]}
    functions = job.get("functions", ())
    opened = _session(workspace, flags, name_of_set=job["set"], functions=functions, persist=True)
    with opened as session, _interrupted_by(cancel, session), ExitStack() as slot:
        for event in session.run(job["prompt"]):
            # The request is sent when the next event is asked for. Sub-agents share the slot.
            if event.kind == "request.started":
                slot.pop_all().close()
                slot.enter_context(admit(str(event.data["model"]).partition("/")[0]))
            elif event.kind in {"request.finished", "run.finished"}:
                slot.pop_all().close()
            elif event.kind == "call.started" and functions:
                data = event.data
                calls.append({"name": data["tool"], "arguments": data["arguments"]})
        return session.report.data()


def _check(
    job: dict[str, Any], workspace: TaskWorkspace, cancel: Cancel, texts: Mapping[str, str]
) -> tuple[bool, str]:
    """Run the task's check as if a user had typed it; return (has_passed, output).

    It gets the *texts* in its environment. Like every call it is judged by deny rules, and runs in
    the sandbox.
    """
    seed = "" if job["seed"] is None else f"export NANOCODER_SEED={job['seed']}\n"
    # In files: policies judge the words of the command, which must not contain a model's text.
    files = {name: f".nanocoder-{name}-{os.urandom(4).hex()}" for name in texts}
    for name, file in files.items():
        text = texts[name].replace("\0", "")
        write_own(workspace.folder, file, [text.encode("utf-8", "surrogateescape")])
    command = f"{seed}{READ_WRITTEN.format(**files)}{job['check']}"
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
    workspace: TaskWorkspace,
    flags: Mapping[str, Any],
    *,
    name_of_set: str = "",
    functions: Sequence[Mapping[str, Any]] = (),
    persist: bool,
) -> Iterator[Session]:
    """Open a session in *workspace*, with *functions* instead of tools if there are any.

    The copied directory's settings apply as far as they tighten, and so do the user's rules for it.
    """
    host = Host(str(workspace.source), name_of_set or None, **flags)
    # A copy that a task can change is not trusted.
    config = host.config = host.config.reread(trusted=False)
    plugins = host.plugins
    if functions:
        replace_tools(plugins, functions)
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
