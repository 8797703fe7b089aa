"""Restore the messages that a compaction replaced."""

from collections.abc import Iterator

from nanocoder import Event, Session, Shortened, UsageError, message_tokens


def restore(session: Session) -> Iterator[Event]:
    """Restore the messages that the latest compaction replaced, before all later ones.

    Raises: UsageError without a compaction.
    """
    compaction, journal = session.compaction, session.journal
    replaced = compaction.earlier or (journal.replaced() if journal is not None else ())
    if not replaced:
        raise UsageError(
            "nothing to restore: this conversation was not compacted, or it was already restored"
        )
    *compaction.earlier, (earlier, length) = replaced
    now = session.messages
    messages = (*earlier, *now[length:])
    before, after = (sum(map(message_tokens, each)) for each in (now, messages))
    yield from session.replace(Shortened("", messages, before, after), "restored")
