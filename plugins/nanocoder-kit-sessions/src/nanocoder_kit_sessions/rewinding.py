"""Rewinding: a conversation, its files, or both go back to where they were before a prompt."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import Host, Message, PersonError, Session, UsageError, encode_message

from nanocoder_kit_sessions.file_history import History
from nanocoder_kit_sessions.journal import RecordJournal
from nanocoder_kit_sessions.prompts import Prompt, find_prompt
from nanocoder_kit_sessions.store import session_store
from nanocoder_kit_sessions.undo import UndoRequest, undo

NOT_KEPT: Final = "this session is not kept, so it cannot be rewound"
NEWER_FILES: Final = (
    "[the user went back to this point of the conversation, but files keep what was changed after"
    " it; read these files again before you continue: {}]"
)
MAX_NAMED: Final = 50


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
    """What a rewind has done: *files* were restored, None where the person did not agree."""

    session_id: str
    prompt: Prompt
    files: Sequence[str] | None = ()


def rewind(
    host: Host,
    session: Session | str,
    request: RewindRequest,
    say: Callable[[str], object],
    agree: Callable[[], bool],
) -> Rewound:
    """Rewind a session; *say* gets each line of the plan for its files, *agree* decides.

    *session* is an open one, or the name of one that nobody uses. Its journal keeps all that was
    said, and an undo of files can be reversed. Raises: PersonError.
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
    changes = History.of_session(records, folder).since(prompt.seq).changes
    if request.files and (changes or not request.conversation):
        undo_request = UndoRequest(since=prompt.seq, force=request.force)
        restored = undo(host, session, undo_request, say, agree).files
        if restored is None:
            return Rewound(session_id, prompt, None)
    if request.conversation:
        with _opened(host, session) as journal:
            _rewind_conversation(journal, prompt)
    if not isinstance(session, str):
        session.reread()
    return Rewound(session_id, prompt, restored)


def _rewind_conversation(journal: RecordJournal, prompt: Prompt) -> None:
    changes = History.of_session(journal.records(), journal.artifacts).since(prompt.seq).changes
    paths = dict.fromkeys(change.target or change.path for change in changes)
    journal.append("transcript.rewound", {"from": prompt.seq, "prompt": prompt.number}, sync=True)
    if paths:
        note = NEWER_FILES.format(", ".join(list(paths)[:MAX_NAMED]))
        journal.append("message", encode_message(Message("user", note, typed="")))


@contextmanager
def _opened(host: Host, session: Session | str) -> Iterator[RecordJournal]:
    """Give the journal of *session*, which is opened for it if nobody uses it."""
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
    """Return the journal of an open session, if it has all that was said."""
    journal = session.journal
    if not isinstance(journal, RecordJournal):
        raise UsageError(NOT_KEPT)
    if journal.problem:
        raise PersonError(journal.problem)
    return journal
