"""`nanocoder sessions approve`: decide later about calls that no person could be asked about."""

import hashlib
import json
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Event,
    Host,
    Message,
    Session,
    ToolCall,
    UsageError,
    brief,
    clip,
    counted,
    open_session,
)

from nanocoder_command_sessions import named_files

NEEDS_PERSON: Final = 3
DENIED: Final = 6
MAX_CHARS: Final = 20_000
TOKEN_CHARS: Final = 16
NEEDED: Final = "approval_needed"
GO_ON: Final = """The user has approved what you could not do before, and it was done now:

{}

Go on with the task."""


@frozen
class Waiting:
    """A call that waits for a decision: *preview* shows its present effect.

    *token* identifies the call in its session and *folder*, with the present content of the files
    that it names. *problem* is the reason it cannot be approved, or "".
    """

    call: ToolCall
    session: str
    folder: Path
    preview: str = ""
    problem: str = ""

    @property
    def token(self) -> str:
        """The call's ID, and the first characters of a digest of the call and its files.

        Raises: TooManyFiles.
        """
        workdir = self.folder / str(self.call.arguments.get("workdir", "."))
        parts = [
            *(self.session, str(self.folder), self.call.name, dict(self.call.arguments)),
            *(self.preview, named_files.digests(self.call.arguments, workdir)),
        ]
        text = json.dumps(parts, sort_keys=True, default=str).encode()
        return f"{self.call.id}:{hashlib.sha256(text).hexdigest()[:TOKEN_CHARS]}"

    def row(self) -> dict[str, Any]:
        """Return it as data; the token is empty if it cannot be approved."""
        token = "" if self.problem else self.token
        row = {"id": self.call.id, "token": token, "tool": self.call.name}
        details = {"arguments": dict(self.call.arguments), "preview": self.preview}
        return {**row, **details, "problem": self.problem}


def approve(arguments: Namespace, host: Host) -> int:
    """List the calls that wait for a decision, or run the named ones and continue."""
    session_id = host.sessions.find(arguments.id, cwd=host.cwd)
    as_json = arguments.output == "json"
    if not arguments.calls:
        return _list(host, session_id, as_json=as_json)
    person = _Person(session_id, host.cwd)
    with _opened(host, session_id, person) as session:
        finished = list[dict[str, str]]()
        for call, token in _named(waiting(session.messages), arguments.calls):
            person.call, person.token, person.shown = call, token, None
            _work(session.call(call.name, call.arguments), host)
            result = session.result
            output = "" if result is None else result.output
            if result is None or result.error_class in {NEEDED, "denied"}:
                code = _not_run(host, call, person, output)
                if as_json:
                    host.print_json(
                        {"session_id": session_id, "done": finished, "not_run": call.id}
                    )
                return code
            title = f"{call.name} {brief(call.arguments)}"
            finished.append({"id": call.id, "title": title, "output": _clipped(output)})
        texts = "\n\n".join(f"{each['title']}\n{each['output']}" for each in finished)
        _work(session.run(GO_ON.format(texts), typed=""), host)
        report = session.report
        if as_json:
            answer = {"text": report.text, "error": report.error}
            host.print_json({"session_id": session_id, "done": finished, **answer})
        elif report.text and not report.error:
            host.print_line(report.text)
        if report.error:
            host.say(report.error["message"])
        return report.exit_code


def waiting(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls of the last run that no person could be asked about."""
    calls: dict[str, ToolCall] = {}
    pending: list[ToolCall] = []
    for message in messages:
        if message.role == "user":
            pending.clear()
        calls |= {call.id: call for call in message.calls}
        needing = (result.call_id for result in message.results if result.error_class == NEEDED)
        pending += [calls[call_id] for call_id in needing if call_id in calls]
    return pending


def _list(host: Host, session_id: str, *, as_json: bool) -> int:
    """Print the present effect of each waiting call, without running any."""
    person = _Person(session_id, host.cwd)
    with _opened(host, session_id, person, dry_run=True) as session:
        calls = waiting(session.messages)
        looks = [_look(session, person, call, host) for call in calls]
    if as_json:
        host.print_json({"session_id": session_id, "calls": [each.row() for each in looks]})
        return 0
    count = counted(len(looks), "call") if looks else "no call"
    verb = "wait" if len(looks) > 1 else "waits"
    host.print_line(f"{count} {verb} for a decision{f' in session {session_id}' * bool(looks)}")
    for each in looks:
        host.print_line(f"\n{each.call.id if each.problem else each.token}  {each.call.name}")
        host.print_line(_indented(each.problem or each.preview))
    tokens = " ".join(each.token for each in looks if not each.problem)
    if tokens:
        host.say(f"to approve: nanocoder sessions approve {session_id} {tokens}")
    return 0


def _look(session: Session, person: "_Person", call: ToolCall, host: Host) -> Waiting:
    """Return the present effect of a call, by a dry run."""
    person.shown = None
    rows = session.approvals.start_dry_run()
    _work(session.call(call.name, call.arguments), host)
    if person.shown is not None:
        return person.waiting(call, person.shown.preview.rstrip("\n"))
    if rows:
        return person.waiting(call, rows[-1]["preview"])
    output = session.result.output if session.result else ""
    return person.waiting(call, problem=f"cannot be approved: {output}")


class _Person:
    """Approves the request that the token identifies, and answers no other."""

    def __init__(self, session_id: str, folder: Path) -> None:
        self._session_id = session_id
        self._folder = folder
        self.call: ToolCall | None = None
        self.token = ""
        self.shown: ApprovalRequest | None = None

    def waiting(self, call: ToolCall, preview: str = "", problem: str = "") -> Waiting:
        """Return *call* as it is shown now, for a decision."""
        look = Waiting(call, self._session_id, self._folder, preview, problem)
        try:
            _ = look.token
        except named_files.TooManyFiles as error:
            return evolve(look, problem=problem or f"cannot be approved: {error}")
        return look

    def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        self.shown = request
        if self.call is None:
            return None
        look = self.waiting(self.call, request.preview.rstrip("\n"))
        if look.problem or self.token != look.token:
            return None
        return ApprovalAnswer(request.id, request.digest, approved=True)


def _opened(host: Host, session_id: str, person: _Person, *, dry_run: bool = False) -> Session:
    return open_session(
        host.cwd,
        config=host.config,
        plugins=host.plugins,
        warn=host.say,
        resume=session_id,
        approve=person,
        dry_run=dry_run,
    )


def _named(calls: Iterable[ToolCall], tokens: Sequence[str]) -> list[tuple[ToolCall, str]]:
    """Return the calls that *tokens* name, in the order of the session; raises UsageError."""
    by_id = {token.rpartition(":")[0]: token for token in tokens}
    named = [(call, by_id.pop(call.id)) for call in calls if call.id in by_id]
    if by_id:
        token = next(iter(by_id.values()))
        raise UsageError(
            f"no call {token!r} waits for a decision; `nanocoder sessions approve ID` lists those"
            " that do, each as CALL:DIGEST"
        )
    return named


def _not_run(host: Host, call: ToolCall, person: _Person, output: str) -> int:
    """Report the reason a call did not run, and its present effect."""
    host.say(f"{call.name} was not run: {output}")
    if person.shown is None:
        return DENIED
    now = person.waiting(call, person.shown.preview.rstrip("\n"))
    if now.problem:
        host.say(now.problem)
    elif now.token != person.token:
        host.say(f"it is not what was shown as {person.token}; now it is {now.token}:")
        host.say(_indented(now.preview))
    return NEEDS_PERSON


def _work(events: Iterator[Event], host: Host) -> None:
    for event in events:
        if event.kind == "notice" and not event.data["text"].startswith("dry run:"):
            host.say(event.data["text"])


def _clipped(output: str) -> str:
    return clip(output, head=MAX_CHARS // 2, tail=MAX_CHARS // 2)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
