"""The part of the contract suite for session stores."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanocoder.session.conversation import encode_message
from nanocoder.values import Message, ToolCall
from nanocoder_schema import PersonError, UsageError, problem_of

from nanocoder_testing.contract_marks import fail_for, for_each_of
from nanocoder_testing.subject import Subject

if TYPE_CHECKING:
    from nanocoder.hooks.interfaces import Journal, Sessions

NO_ID = "no-such-session"


@for_each_of("stores")
def test_a_store_keeps_what_was_said(
    subject: Subject, part: str, contract_workspace: Path, tmp_path: Path
) -> None:
    """Start a session and a sub-agent's, record unusual data, end both, and resume the first.

    A store that cannot be opened here, or that stores nothing, raises UsageError or ConfigError.
    """
    plugins = subject.alone()
    offered = plugins.offered("stores", part)
    if offered is None:
        raise LookupError(part)
    warnings: list[str] = []
    environment = {"HOME": str(tmp_path / "home")}
    try:
        sessions = offered[1].open(environment, plugins.settings(subject.name), warnings.append)
    except PersonError as error:
        fail_for([] if str(error) else [f"{part}: say in the error what to do"])
        return
    problems = warnings
    try:
        for problem in _problems(sessions, contract_workspace):
            problems.append(problem)
    except Exception as error:  # noqa: BLE001 - whatever is raised is what this test is about
        problems.append(f"{part}: raised {problem_of(error)}")
    fail_for(problems)


def _problems(sessions: "Sessions", cwd: Path) -> Iterator[str]:
    journal = sessions.start(cwd, "provider/model", "ask")
    child = sessions.start(cwd, "provider/model", "ask", origin={"agent": "a"}, parent=journal)
    if not journal.id or child.id == journal.id:
        yield f"start gave the ids {journal.id!r} and {child.id!r}; each needs one of its own"
    yield from _recording_problems(journal)
    yield from _output_problems(journal)
    yield from _restoring_problems(journal)
    texts = [message.text for message in journal.messages()]
    for each in (child, child, journal, journal):
        each.close()
    yield from _resuming_problems(sessions, journal.id, texts, cwd)


def _recording_problems(journal: "Journal") -> Iterator[str]:
    calls = (ToolCall("1", "look", {"x": "\ud800"}), ToolCall("2", "look"))
    records: list[tuple[str, dict[str, Any]]] = [
        ("run.started", {"prompt": "Hello"}),
        ("message", encode_message(Message("user", "Hello"))),
        ("kind.of.tomorrow", {"odd": "\x1b[2J\0\ud800", "list": [1, None, {"a": 0.5}]}),
        ("message", encode_message(Message("assistant", "I look.", calls))),
        ("call.finished", {"result": {"output": "seen", "call_id": "1"}}),
    ]
    numbers = [journal.append(kind, data) for kind, data in records]
    numbers.append(journal.append("run.finished", {}, sync=True))
    if sorted(set(numbers)) != numbers:
        yield f"append returned the numbers {numbers}; each has to be larger than the one before"
    if journal.problem:
        yield f"its problem is {journal.problem!r} while nothing is wrong"
    roles = [message.role for message in journal.messages()]
    results = [result.call_id for message in journal.messages() for result in message.results]
    if roles != ["user", "assistant", "tool"] or results != ["1", "2"]:
        yield f"messages() has {roles} with results of {results}; every call needs one result"


def _restoring_problems(journal: "Journal") -> Iterator[str]:
    before = [message.text for message in journal.messages()]
    shorter = [encode_message(Message("user", "In short."))]
    journal.append("transcript.compacted", {"messages": shorter, "reason": "asked"})
    replaced = [([each.text for each in earlier], length) for earlier, length in journal.replaced()]
    if replaced != [(before, 1)]:
        yield f"replaced() has {replaced} after a compaction; it needs {[(before, 1)]}"


def _output_problems(journal: "Journal") -> Iterator[str]:
    path = journal.output("../odd name", b"whole\0output")
    if not path:
        return
    folder = journal.outputs
    if folder is None or not Path(path).resolve().is_relative_to(folder.resolve()):
        yield f"output kept {path}, which is not in {folder}: a model may read only what is there"
    elif Path(path).read_bytes() != b"whole\0output":
        yield "output did not keep the bytes that it got"


def _resuming_problems(
    sessions: "Sessions", session_id: str, recorded: list[str], cwd: Path
) -> Iterator[str]:
    if not _refuses(sessions.find, NO_ID, cwd):
        yield f"find({NO_ID!r}) has to raise UsageError"
    if _refuses(sessions.find, session_id, cwd):  # it stores nothing
        if not _refuses(sessions.resume, session_id, cwd):
            yield "resume has to raise UsageError for a session that find does not know"
        return
    ids = {sessions.find(name, cwd=cwd) for name in (session_id, "last")}
    if ids != {session_id}:
        yield f"find({session_id!r}) and find('last') have to return it"
    stored = sessions.resume(session_id, cwd=cwd)
    try:
        texts = [message.text for message in stored.messages]
        facts = (stored.journal.id, texts, stored.model, stored.cwd)
        if facts != (session_id, recorded, "provider/model", str(cwd)):
            yield f"resume returned {facts}; expected what was recorded"
    finally:
        stored.journal.close()


def _refuses(attempt: Callable[..., object], name: str, cwd: Path) -> bool:
    """Return True if *attempt* raises UsageError."""
    try:
        attempt(name, cwd=cwd)
    except UsageError:
        return True
    return False
