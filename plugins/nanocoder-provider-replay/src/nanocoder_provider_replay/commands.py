"""`nanocoder sessions record`, `sessions replay` and `sessions to-test`."""

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from nanocoder import Host, UsageError, encode_message, named_paths
from nanocoder_kit_files.redact import Redactor, redact_value
from nanocoder_kit_sessions import Record, session_store, without_rewound
from nanocoder_kit_sessions.transcript import repaired

from nanocoder_provider_replay.recording import Recording, as_json, read_recording
from nanocoder_provider_replay.replaying import replayed

MAX_FILE_BYTES: Final = 1_000_000
KEPT: Final = ("role", "text", "typed", "calls", "results", "native")
TEST: Final = '''"""Session {session_id}, played again; made by `nanocoder sessions to-test`."""

{imports}

HERE = Path(__file__).parent


def test_{name}(tmp_path):
    """The policies and the loop of today do with the session what they did with it then."""
    environment = {{"HOME": str(tmp_path / "home")}}
    cwd = tmp_path / "workspace"
    cwd.mkdir()
    divergence = replay(HERE / "{name}.json", cwd, environment=environment)
    assert not divergence, divergence
'''
TOOLS_TEST: Final = '''

def test_{name}_with_its_tools(tmp_path):
    """The tools of today do with the recorded files what they did with them then."""
    environment = {{"HOME": str(tmp_path / "home")}}
    cwd = tmp_path / "workspace"
    shutil.copytree(HERE / "{name}", cwd)
    problem = replay_with_tools(HERE / "{name}.json", cwd, environment=environment)
    assert not problem, problem
'''
IMPORTS: Final = "from pathlib import Path\n\nfrom nanocoder_provider_replay import replay"
TOOLS_IMPORTS: Final = f"import shutil\n{IMPORTS}, replay_with_tools"


def record(arguments: Namespace, host: Host) -> int:
    """Print the recording of a session."""
    _, recording = _recording(arguments, host)
    host.print_line(as_json(recording).rstrip("\n"))
    host.say("Values that look secret were removed. Read the recording before you share it.")
    return 0


def replay_session(arguments: Namespace, host: Host) -> int:
    """Replay a session, or a recording of one; return 1 when it diverges."""
    if arguments.id.endswith(".json"):
        recording = read_recording(str(host.cwd / arguments.id))
        cwd = host.cwd
    else:
        recording = _recording(arguments, host)[1]
        cwd = Path(recording.cwd) if Path(recording.cwd).is_dir() else host.cwd
    outcome = replayed(recording, cwd)
    if arguments.journal:
        lines = b"".join(bytes(record.line()) for record in outcome.records)
        _write(host.cwd / arguments.journal, lines.decode())
    if arguments.output == "json":
        data = {"session": outcome.session, "records": len(outcome.records)}
        host.print_json({**data, "divergence": outcome.divergence or None})
    elif outcome.divergence:
        host.print_line(outcome.divergence)
    else:
        host.print_line(
            f"session {outcome.session} happened again: {len(outcome.records)} records are the same"
        )
    return 1 if outcome.divergence else 0


def to_test(arguments: Namespace, host: Host) -> int:
    """Write a test and its recording; raises UsageError.

    With `--tools` a second test runs the tools, on the files that the session's calls name.
    """
    session_id, recording = _recording(arguments, host)
    if not recording.replies:
        raise UsageError(f"in session {session_id} no model answered; nothing can be replayed")
    folder = host.cwd / arguments.into
    name = "session_" + re.sub(r"\W", "_", session_id)
    imports = TOOLS_IMPORTS if arguments.tools else IMPORTS
    test = TEST.format(session_id=session_id, name=name, imports=imports)
    if arguments.tools:
        test += TOOLS_TEST.format(name=name)
    files = dict(_named_files(recording, Path(recording.cwd))) if arguments.tools else {}
    _write(folder / f"{name}.json", as_json(recording))
    _write(folder / f"test_{name}.py", test)
    host.print_line(str(folder / f"test_{name}.py"))
    if not arguments.tools:
        return 0
    (folder / name).mkdir(exist_ok=True)
    for path, content in files.items():
        _write(folder / name / path, content)
    host.say(
        f"{len(files)} files that the session named are in {folder / name}, as they are now. Put"
        " those that it changed there as they were before (`nanocoder sessions undo` shows them)."
    )
    return 0


def _recording(arguments: Namespace, host: Host) -> tuple[str, Recording]:
    session_id = session_store(host).find(arguments.id, cwd=host.cwd)
    store = session_store(host)
    records = list(_repeatable(store.records(session_id)))
    transcript = repaired(records, store.path(session_id).with_suffix(""))
    messages = [_without_secrets(encode_message(message)) for message in transcript.messages]
    profile: Literal["full", "small"] = "small" if arguments.small else "full"
    events = [_event(record) for record in without_rewound(records)]
    more = transcript.mode or "ask", events
    return session_id, Recording(session_id, transcript.cwd, profile, messages, session_id, *more)


def _event(record: Record) -> dict[str, Any]:
    """Return a record for a recording; the journal is already redacted."""
    return {
        "kind": record.kind,
        "at": record.at,
        "turn": record.turn,
        "data": redact_value(dict(record.data), Redactor()),
    }


def _repeatable(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records that a replay repeats: no compactions, no notes of undo and rewind.

    A replay's window holds all messages, and its session runs one prompt after the other.
    """
    is_running = False
    for record in records:
        if record.kind in {"run.started", "run.finished", "session.resumed"}:
            is_running = record.kind == "run.started"
        is_note = record.kind == "message" and record.data.get("typed") == "" and not is_running
        if record.kind != "transcript.compacted" and not is_note:
            yield record


def _without_secrets(message: Mapping[str, Any]) -> dict[str, Any]:
    redactor = Redactor()
    return {name: redact_value(message[name], redactor) for name in KEPT if name in message}


def _named_files(recording: Recording, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the text files in the workspace that calls of the session name, as they are now."""
    calls = [call for message in recording.messages for call in message.get("calls", ())]
    paths = {path for call in calls for path in named_paths(call.get("arguments", {}))}
    for path in sorted(paths):
        file = (root / path).resolve()
        if not file.is_relative_to(root.resolve()) or not file.is_file():
            continue
        if file.stat().st_size <= MAX_FILE_BYTES:
            text = file.read_text(encoding="utf-8", errors="replace")
            yield str(file.relative_to(root.resolve())), Redactor().redact(text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"{path} exists already; remove it, or choose another --into DIR"
        ) from None
