"""Undo: the changes that a request selects, and their reversal with the user's consent."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen
from nanocoder import (
    ConfigError,
    Host,
    Journal,
    Message,
    NanocoderError,
    PersonError,
    Session,
    UsageError,
    Workspace,
    encode_message,
)

from nanocoder_kit_sessions.file_change import FileChange, apart_from
from nanocoder_kit_sessions.file_history import History, Piece
from nanocoder_kit_sessions.journal import RecordJournal
from nanocoder_kit_sessions.records import Record
from nanocoder_kit_sessions.snapshots import GitStore
from nanocoder_kit_sessions.snapshots.look_log import finish_interrupted
from nanocoder_kit_sessions.store import SessionStore, session_store
from nanocoder_kit_sessions.undo_plan import plan_undo
from nanocoder_kit_sessions.undo_steps import CHANGED, GIT, NOTHING_CHANGED, UndoPlan, carry_out
from nanocoder_kit_sessions.work import sessions_with_work

NOT_KEPT: Final = "this session is not kept, so its changes cannot be undone"
ELSEWHERE: Final = (
    "nothing was changed: the journal names files in {0}, but the session ran in {1};"
    " to undo in {0}, pass --cwd {0}"
)
NOTHING: Final = "nothing to undo: no file was changed, or everything was undone already"
FORKED: Final = "; this session is a fork: undo earlier changes in {}"
NO_CALL: Final = (
    "call {!r} has no change to undo; `nanocoder sessions show ID --output json` lists the ids"
)
TELL_MODEL: Final = "[the user {}; read these files again before you continue: {}]"
IN_GIT: Final = "branches, tags and stashes in .git"
NO_REDO: Final = "nothing to redo"
UNTRACKED: Final = "side effects are not tracked: {}"
BEYOND: Final = (
    "not undone, if {} made them: commits, and changes to large files, to files that git ignores"
    " and outside this folder"
)
OTHERS: Final = "; what others changed at the same time is undone, too"
FORCED: Final = "; --force restores it, too"
LOST: Final = "its content before was too large for the snapshot, or not read yet"
TRACKED: Final = frozenset({"read", "write", "idempotent", "reversible"})
"""The effects of tools that only change files through the workspace."""


@frozen
class UndoRequest:
    """A request to undo the last run, one *call*, *everything*, or with *redo* the last undo.

    *since* is the number of the first record whose changes are undone, 0 for none. *file* limits
    the undo to changes of that file; *force* includes files that were changed since.
    """

    call: str = ""
    everything: bool = False
    redo: bool = False
    file: str = ""
    force: bool = False
    since: int = 0


@frozen
class Undone:
    """The session and the *files* that an undo restored, or None if the user did not agree.

    *skipped* are files that were not restored, for a reported reason.
    """

    session_id: str
    files: Sequence[str] | None
    skipped: Sequence[str] = ()


def undo(
    host: Host,
    session: Session | str,
    request: UndoRequest,
    say: Callable[[str], object],
    agree: Callable[[], bool],
) -> Undone:
    """Undo a session's changes; *say* gets each line of the plan, *agree* decides.

    *session* is an open one, or the name of an idle one. Raises: PersonError.
    """
    if isinstance(session, str):
        return _undo_stored(host, session, request, say, agree)
    journal = session.journal
    if not isinstance(journal, RecordJournal) or journal.backups is None:
        raise UsageError(NOT_KEPT)
    records = journal.records()
    see_interrupted(records, journal.artifacts)
    history = History.of_session(records, journal.artifacts)
    selection = _select(history, request, _effects(host))
    command = _Undo(session.open_workspace(), journal, _effects(host), say, request.force)
    files = command.run(selection, agree)
    session.reread()  # the model reads of the undo
    return Undone(session.id, files, command.skipped)


def _undo_stored(
    host: Host,
    name: str,
    request: UndoRequest,
    say: Callable[[str], object],
    agree: Callable[[], bool],
) -> Undone:
    if host.config.refusal:
        raise ConfigError(host.config.refusal)
    store = session_store(host)
    session_id = store.find(_with_changes(store, name, host.cwd, redo=request.redo), cwd=host.cwd)
    effects = _effects(host)
    if records := store.records(session_id):
        see_interrupted(records, store.path(session_id).with_suffix(""))
        # A session with nothing to undo is not opened: it would be the last one used.
        try:
            _select(_stored_history(store, session_id), request, effects)
        except PersonError as error:
            raise _in_session(session_id, error) from error
    records, journal = store.open(session_id)
    try:
        selection = _select(History.of_session(records, journal.artifacts), request, effects)
        root = Path(selection.changes[0].root)
        _refuse_elsewhere(root, records, host.cwd)
        if root != host.cwd:
            say(f"these are files in {root}:")
        with host.open_workspace(root, journal) as workspace:
            command = _Undo(workspace, journal, effects, say, request.force)
            return Undone(session_id, command.run(selection, agree), command.skipped)
    finally:
        journal.close()


def see_interrupted(records: Sequence[Record], folder: Path | None) -> None:
    """Log the changes by commands that were running when a session was killed, if any.

    *folder* is that of its own files. If this fails, undo ignores these changes.
    """
    root = Path(str(records[0].data.get("cwd", ""))) if records else Path()
    store = GitStore.of_session(folder, root) if folder and root.is_absolute() else None
    if store is None or not store.folder.is_dir():
        return

    with suppress(OSError, NanocoderError), Workspace(root) as workspace:
        finish_interrupted(store.folder, workspace)


def _in_session(session_id: str, error: PersonError) -> PersonError:
    """Return *error* with the session that was examined: the user may mean an earlier one."""
    if not str(error).startswith(NOTHING):
        return error
    return PersonError(
        f"{error} (session {session_id}; `nanocoder sessions list` names the others)"
    )


def _effects(host: Host) -> Mapping[str, Collection[str]]:
    return {name: [*map(str, tool.effects)] for name, tool in host.plugins.tools().items()}


def _with_changes(store: SessionStore, name: str, cwd: Path, *, redo: bool) -> str:
    """Return the session by *name*; one without an answer is skipped unless it has changes.

    With *redo* it has to have an undo that stands. If none has, the last one can say so.
    """
    if name != "last":
        return name
    worked = list(sessions_with_work(store, cwd))
    for summary in worked:
        history = None if summary.is_answered else _stored_history(store, summary.id)
        if history is None or (history.last_undo() if redo else history.last()):
            return summary.id
    return worked[0].id if worked else name


def _stored_history(store: SessionStore, session_id: str) -> History:
    folder = store.path(session_id).with_suffix("")
    return History.of_session(store.records(session_id), folder)


def _refuse_elsewhere(root: Path, records: Sequence[Record], here: Path) -> None:
    """Reject a *root* that is neither *here* nor the session's: a journal is only a file.

    Sub-agents record their changes in journals of their own.
    """
    directory = records[0].data.get("cwd")
    if str(root) not in {str(here), directory}:
        raise PersonError(ELSEWHERE.format(root, directory))


@frozen
class _Selection:
    """The changes to undo, the piece of the session that they belong to, and those to restore.

    *problem* is the reason that changes by commands were not tracked.
    """

    piece: Piece
    changes: list[FileChange]
    again: tuple[FileChange, ...] = ()
    problem: str = ""


def _select(
    history: History, request: UndoRequest, effects: Mapping[str, Collection[str]]
) -> _Selection:
    """Return the changes that *request* selects; raises PersonError if there are none."""
    if request.redo:
        return _select_undo(history)
    if request.call:
        piece = history.of_call(request.call)
        if piece is None:
            raise UsageError(NO_CALL.format(request.call))
    elif request.since or request.everything:
        piece = history.since(request.since)
    else:
        piece = history.last()
    changes = history.standing(piece) if piece is not None else []
    if request.file:
        path = request.file.removeprefix("./")
        others = apart_from(changes, [path])
        changes = [change for change in changes if change not in others]
        if not changes:
            raise UsageError(f"the session has no change of {path!r} to undo")
    if piece is None or not changes:
        origin = FORKED.format(history.forked_from) if history.forked_from else ""
        raise PersonError(NOTHING + origin + _untracked_clause(history, effects))
    return _Selection(piece, changes, problem=history.problem)


def _untracked_clause(history: History, effects: Mapping[str, Collection[str]]) -> str:
    """Return a clause that names the tools of the last run with untracked side effects."""
    runs = [piece for piece in history.pieces if piece.kind != "undo"]
    tools = untracked(runs[-1].tools, effects) if runs else []
    return "; " + _untracked_text(tools, history.problem) if tools else ""


def _untracked_text(tools: Sequence[str], problem: str) -> str:
    return UNTRACKED.format(", ".join(tools)) + (f" ({problem})" if problem else "")


def untracked(tools: Iterable[str], effects: Mapping[str, Collection[str]]) -> list[str]:
    """Return those of the *tools* that did more than change files through the workspace.

    An unknown tool may have done anything.
    """
    return sorted({tool for tool in tools if not {*effects.get(tool, ["unknown"])} <= TRACKED})


def _select_undo(history: History) -> _Selection:
    piece = history.last_undo()
    if piece is None:
        raise PersonError(NO_REDO)
    changes = (change for other in history.pieces for change in other.changes)
    again = tuple(change for change in changes if change.key in piece.undoes)
    return _Selection(piece, history.standing(piece), again)


@frozen
class _Undo:
    """Undoes changes in *workspace*: shows the plan, asks for consent, carries it out.

    *effects* are those of each tool, by its name; *skipped* gets the files that are left alone.
    """

    workspace: Workspace
    journal: Journal
    effects: Mapping[str, Collection[str]]
    say: Callable[[str], object]
    force: bool
    skipped: list[str] = field(factory=list)
    _skipped_lines: list[str] = field(factory=list)

    def run(self, selection: _Selection, agree: Callable[[], bool]) -> list[str] | None:
        """Return the restored paths, None without consent. Raises: PersonError."""
        selection = self._without_lost(selection)
        plan = self._plan(selection.changes)
        if not selection.again:
            plan = self._without_blocked(plan, selection)
        self._show(plan, selection)
        return self._carry_out(plan, selection) if agree() else None

    def _plan(self, changes: Sequence[FileChange]) -> UndoPlan:
        artifacts = self.journal.artifacts
        root = self.workspace.root
        snapshots = GitStore.of_session(artifacts, root) if artifacts else None
        return plan_undo(
            self.workspace, self.journal.backups, changes, force=self.force, snapshots=snapshots
        )

    def _carry_out(self, plan: UndoPlan, selection: _Selection) -> list[str]:
        """Carry *plan* out, between two records of the undo; return the restored paths."""
        record = {
            "undoes": [change.key for change in plan.changes],
            "again": [change.key for change in selection.again],
        }
        self.journal.append("undo.started", {"of": selection.piece.title, **record})
        failed = carry_out(plan, self.workspace)
        if failed:
            record = {
                "undoes": [change.key for change in apart_from(plan.changes, failed)],
                "again": [change.key for change in apart_from(selection.again, failed)],
            }
        paths = [path for path in plan.paths if path not in failed]
        self.journal.append("undo.finished", {**record, "files": paths}, sync=True)
        if paths:
            how = "restored your changes" if selection.again else "undid your changes"
            files = [path for path in paths if not path.startswith(GIT)]
            in_git = [IN_GIT] if len(files) < len(paths) else []
            note = TELL_MODEL.format(how, ", ".join([*files, *in_git]))
            self.journal.append("message", encode_message(Message("user", note, typed="")))
        self._report(plan, paths, failed)
        return paths

    def _report(self, plan: UndoPlan, paths: Sequence[str], failed: Mapping[str, str]) -> None:
        if failed:
            progress = f"done so far: {', '.join(paths)}" if paths else NOTHING_CHANGED
            raise PersonError(f"{'; '.join(failed.values())}; {progress}")
        if lines := [*plan.results(failed)]:
            self.say("\n".join(lines))

    def _without_lost(self, selection: _Selection) -> _Selection:
        """Skip files whose old content was not stored."""
        lost = dict.fromkeys(change.path for change in selection.changes if change.is_lost)
        for path in lost:
            self._leave(f"{path}: {LOST}", path)
        return evolve(selection, changes=apart_from(selection.changes, lost)) if lost else selection

    def _without_blocked(self, plan: UndoPlan, selection: _Selection) -> UndoPlan:
        """Skip files that cannot be restored or were changed since, and plan the others."""
        ran = ", ".join(untracked(selection.piece.tools, self.effects))
        by = f", perhaps by this session's own {ran}" if ran else ""
        changes = selection.changes
        while plan.blocked and (rest := apart_from(changes, plan.blocked)):
            for path, reason in plan.blocked.items():
                since = f"{by}{FORCED}" if reason in CHANGED else ""
                self._leave(f"{path} {reason}{since}", path)
            changes, plan = rest, self._plan(rest)
        return plan

    def _leave(self, line: str, path: str) -> None:
        self._skipped_lines.append(f"left as it is: {line}")
        self.skipped.append(path)

    def _show(self, plan: UndoPlan, selection: _Selection) -> None:
        """Show the plan of the undo, and the files that it skips."""
        if plan.problem or plan.blocked:
            can_force = any(reason in CHANGED for reason in plan.blocked.values())
            refusal = f"{plan.refusal()}{FORCED if can_force else ''}"
            raise PersonError("; ".join([refusal, *self._skipped_lines]))
        diff, lines, piece = [*plan.diff()], [*plan.lines()], selection.piece
        if diff:
            self.say("\n".join(diff))
        elif not lines:
            lines = ["every file is already as it was before"]
        lines += self._skipped_lines
        if piece.commands:
            others = OTHERS if _has_files_of_commands(plan.changes, selection.changes) else ""
            lines.append(BEYOND.format(", ".join(sorted({*piece.commands}))) + others)
        if tools := untracked(piece.tools, self.effects):
            lines.append(f"not undone: {_untracked_text(tools, selection.problem)}")
        if lines:
            self.say("\n".join(lines))


def _has_files_of_commands(restored: Iterable[FileChange], changes: Iterable[FileChange]) -> bool:
    """Return True if a *restored* file was changed by no known tool.

    Snapshots show the changes while a command ran, but not their author.
    """
    by_tools = {path for each in changes if not each.entry for path in (each.path, each.target)}
    return any(change.entry and change.path not in by_tools for change in restored)
