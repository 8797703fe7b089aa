"""Undo for the hosts of commands: in an open session, or in one that nobody uses."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nanocoder.errors import PersonError, UsageError
from nanocoder.session.records import Record, read
from nanocoder.session.undo_command import UndoCommand, has_changes, select_changes
from nanocoder.session.undo_request import Undone, UndoRequest
from nanocoder.session.workspaces import open_workspace

if TYPE_CHECKING:
    from nanocoder.cli.command_host import CommandHost
    from nanocoder.plugins import Plugins
    from nanocoder.session.loop import Session

NOT_KEPT = "this session is not kept, so its changes cannot be undone"
ELSEWHERE = (
    "nothing was changed: the journal names files in {0}, but the session ran in {1};"
    " to undo in {0}, pass --cwd {0}"
)


def undo_open(
    session: "Session",
    request: UndoRequest,
    say: Callable[[str], object],
    agree: Callable[[], bool],
) -> Undone:
    """Undo in a session that goes on; raises PersonError."""
    journal = session.journal
    if journal is None or journal.path is None:
        raise UsageError(NOT_KEPT)
    changes = select_changes(read(journal.path), request)
    effects = _effects(session.plugins)
    command = UndoCommand(session.open_workspace(), journal, effects, say, agree, request.force)
    return Undone(session.id, command.run(changes))


def undo_stored(
    host: "CommandHost",
    name: str,
    request: UndoRequest,
    say: Callable[[str], object],
    agree: Callable[[], bool],
) -> Undone:
    """Undo in the session that *name* means, which nobody uses; raises PersonError."""
    session_id = host.sessions.find(_with_changes(host, name), cwd=host.cwd)
    if records := host.sessions.records(session_id):
        # A session with nothing to undo is not opened: it would be the last one used.
        select_changes(records, request)
    records, journal = host.sessions.open(session_id)
    try:
        changes = select_changes(records, request)
        root = Path(changes.changes[0].root)
        _refuse_elsewhere(root, records, host.cwd)
        if root != host.cwd:
            say(f"these are files in {root}:")
        with open_workspace(root, journal, host.config) as workspace:
            effects = _effects(host.plugins)
            command = UndoCommand(workspace, journal, effects, say, agree, request.force)
            return Undone(session_id, command.run(changes))
    finally:
        journal.close()


def _effects(plugins: "Plugins") -> Mapping[str, Collection[str]]:
    return {name: [*map(str, tool.effects)] for name, tool in plugins.tools().items()}


def _with_changes(host: "CommandHost", name: str) -> str:
    """Return the session that is meant; a single call counts as the last if it has changes."""
    if name != "last":
        return name
    for summary in host.sessions.worked_in(host.cwd):
        if summary.title or has_changes(host.sessions.records(summary.id)):
            return summary.id
    return name


def _refuse_elsewhere(root: Path, records: Sequence[Record], here: Path) -> None:
    """Refuse a *root* that is neither *here* nor the session's own: a journal is only a file.

    Sub-agents write what they change into journals of their own.
    """
    directory = records[0].data.get("cwd")
    if str(root) not in {str(here), directory}:
        raise PersonError(ELSEWHERE.format(root, directory))
