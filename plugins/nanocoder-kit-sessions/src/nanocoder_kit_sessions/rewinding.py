"""Rewinding: a conversation, its files, or both go back to where they were before a prompt."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import Host, Message, PersonError, Session, UsageError, encode_message

from nanocoder_kit_sessions.file_history import History
from nanocoder_kit_sessions.journal import RecordJournal
from nanocoder_kit_sessions.prompts import Prompt, find_prompt
from nanocoder_kit_sessions.records import Record
from nanocoder_kit_sessions.store import session_store
from nanocoder_kit_sessions.undo import UndoRequest, see_interrupted, undo

NOT_KEPT: Final = "this session is not kept, so it cannot be rewound"
NEWER_FILES: Final = (
    "[the user went back to this point of the conversation, but files keep what was changed after"
    " it; read these files again before you continue: {}]"
)
MAX_NAMED: Final = 50
FORKED: Final = (
    "This session is a fork: earlier changes of files, if any, belong to session {0};"
    " to undo them: nanocoder sessions undo {0}"
)


@frozen
class RewindRequest:
    """Go back to before prompt *number*: the *conversation*, the *files*, or both.

    With *force* files are restored even if they were changed since, by someone else.
    """

    number: int
    conversation: bool = True
    files: bool = True
    force: bool = False


@frozen
class Rewound:
    """The result of a rewind: *files* were restored, or None if the user did not agree.

    *skipped* are files that still have later changes. *forked_from* is the session of the earlier
    file changes, if files were to be restored and the prompt is older than the fork.
    """

    session_id: str
    prompt: Prompt
    files: Sequence[str] | None = ()
    skipped: Sequence[str] = ()
    forked_from: str = ""


def rewind(
    host: Host,
    session: Session | str,
    request: RewindRequest,
    say: Callable[[str], object],
    agree: Callable[[], bool],
) -> Rewound:
    """Rewind a session; *say* gets each line of the plan for its files, *agree* decides.

    *session* is an open one, or the name of one that is not in use. Its journal loses nothing, and
    the undo of files can be redone. Raises: PersonError.
    """
    if isinstance(session, str):
        store = session_store(host)
        session = store.find(session, cwd=host.cwd)
        records = store.records(session)
        folder: Path | None = store.path(session).with_suffix("")
    else:
        journal = _journal_of(session)
        records, folder = journal.records(), journal.artifacts
    prompt = find_prompt(records, request.number)
    session_id = session if isinstance(session, str) else session.id
    restored: Sequence[str] | None = ()
    see_interrupted(records, folder)
    history = History.of_session(records, folder)
    if request.files and (history.since(prompt.seq).changes or not request.conversation):
        undo_request = UndoRequest(since=prompt.seq, force=request.force)
        restored = undo(host, session, undo_request, say, agree).files
        if restored is None:
            return Rewound(session_id, prompt, None)
    with _opened(host, session) as journal:
        skipped = _changed_files(journal, prompt)
        if request.conversation:
            _rewind_conversation(journal, prompt, skipped)
    if not isinstance(session, str):
        session.reread()
    if not request.files:
        return Rewound(session_id, prompt)
    origin = history.forked_from if _is_copied(prompt, records) else ""
    return Rewound(session_id, prompt, restored, skipped, origin)


def _is_copied(prompt: Prompt, records: Iterable[Record]) -> bool:
    """Return True if a fork took *prompt* from its origin: it was copied without its run."""
    return not any(record.kind == "run.started" and record.seq <= prompt.seq for record in records)


def _changed_files(journal: RecordJournal, prompt: Prompt) -> list[str]:
    """Return the files with changes in effect since *prompt*."""
    changes = History.of_session(journal.records(), journal.artifacts).since(prompt.seq).changes
    return list(dict.fromkeys(change.target or change.path for change in changes))


def _rewind_conversation(journal: RecordJournal, prompt: Prompt, paths: Sequence[str]) -> None:
    journal.rewind(prompt.seq, prompt.number)
    if paths:
        note = NEWER_FILES.format(", ".join(paths[:MAX_NAMED]))
        journal.append("message", encode_message(Message("user", note, typed="")))


@contextmanager
def _opened(host: Host, session: Session | str) -> Iterator[RecordJournal]:
    """Give the journal of *session*, which is opened for it if it is not in use."""
    if not isinstance(session, str):
        yield _journal_of(session)
        return
    _, journal = session_store(host).open(session)
    try:
        yield journal
    finally:
        journal.close()
    if journal.problem:
        raise PersonError(journal.problem)


def _journal_of(session: Session) -> RecordJournal:
    """Return the journal of an open session, if it has the whole conversation."""
    journal = session.journal
    if not isinstance(journal, RecordJournal):
        raise UsageError(NOT_KEPT)
    if journal.problem:
        raise PersonError(journal.problem)
    return journal
