"""Undo: the changes that it takes back, and taking them back with a person's consent."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import frozen
from nanocoder_files import FileChange, apart_from
from nanocoder_schema import Shown, ToolError, Value

from nanocoder.errors import PersonError, UsageError
from nanocoder.session.file_history import History, Piece
from nanocoder.session.journal import Journal
from nanocoder.session.records import Record
from nanocoder.session.undo_request import UndoRequest

if TYPE_CHECKING:
    from nanocoder_files import UndoPlan, Workspace

NOTHING = "nothing to undo: no file was changed, or everything was undone already"
FORKED = "; this session is a fork: undo earlier changes in {}"
NO_CALL = (
    "call {!r} has no change to undo; `nanocoder sessions show ID --output json` lists the ids"
)
NO_REDO = "nothing to redo"
TRACKED = {"read", "write", "idempotent", "reversible"}
"""The effects of tools that only change files through the workspace."""


@frozen(eq=False, repr=False)
class Selection(Value):
    """The changes to undo, the piece of the session that they belong to, and those to restore."""

    piece: Piece
    changes: list[FileChange]
    again: tuple[FileChange, ...] = ()


@frozen(eq=False, repr=False)
class UndoCommand(Shown):
    """Undoes changes in *workspace*: shows the plan, asks for consent, carries it out.

    *effects* are those of each tool, by its name.
    """

    workspace: "Workspace"
    journal: Journal
    effects: Mapping[str, Collection[str]]
    say: Callable[[str], object]
    agree: Callable[[], bool]
    force: bool = False

    def run(self, selection: Selection) -> list[str] | None:
        """Return the restored paths, None without consent. Raises: PersonError."""
        plan = self._plan(selection.changes)
        if plan.blocked and not selection.again:
            plan = self._without_blocked(plan, selection)
        self._show(plan, selection.piece)
        if not self.agree():
            return None
        self._carry_out(plan, selection)
        return plan.paths

    def _plan(self, changes: Sequence[FileChange]) -> "UndoPlan":
        from nanocoder_files import plan_undo  # undo is rare

        artifacts = self.journal.artifacts
        backups = artifacts / "backups" if artifacts else None
        return plan_undo(self.workspace, backups, changes, force=self.force)

    def _carry_out(self, plan: "UndoPlan", selection: Selection) -> None:
        """Carry *plan* out, between two records that say so."""
        from nanocoder_files import carry_out

        self.journal.append("undo.started", {"of": selection.piece.title})
        try:
            carry_out(plan, self.workspace)
        except ToolError as error:
            raise PersonError(str(error)) from error
        record = {
            "undoes": [change.seq for change in plan.changes],
            "again": [change.seq for change in selection.again],
            "files": plan.paths,
        }
        self.journal.append("undo.finished", record, sync=True)

    def _without_blocked(self, plan: "UndoPlan", selection: Selection) -> "UndoPlan":
        """Leave files alone that were changed since, say so, and plan for the others."""
        rest = apart_from(selection.changes, plan.blocked)
        others = self._plan(rest)
        if not rest or others.problems:
            return plan
        ran = ", ".join(self._untracked(selection.piece))
        by = f", perhaps by this session's own {ran}" if ran else ""
        for path, change in plan.blocked.items():
            self.say(f"left as it is: {path} {change}{by}; --force restores it, too")
        return others

    def _show(self, plan: "UndoPlan", piece: Piece) -> None:
        if plan.problems:
            raise PersonError(plan.refusal())
        if diff := plan.diff():
            self.say(diff)
        for line in plan.lines() or ["every file is already as it was before"]:
            self.say(line)
        if untracked := self._untracked(piece):
            self.say(f"not undone (its side effects are not tracked): {', '.join(untracked)}")

    def _untracked(self, piece: Piece) -> list[str]:
        """Return the tools of *piece* that did more than change files through the workspace.

        An unknown tool may have done anything.
        """
        effects = {tool: {*self.effects.get(tool, ["unknown"])} for tool in piece.tools}
        return sorted(tool for tool, names in effects.items() if not names <= TRACKED)


def select_changes(records: Sequence[Record], request: UndoRequest) -> Selection:
    """Return the changes that *request* means; raises PersonError when there is none."""
    history = History(records)
    if request.redo:
        return _last_undo(history)
    if request.call:
        piece = history.of_call(request.call)
        if piece is None:
            raise UsageError(NO_CALL.format(request.call))
    else:
        piece = history.all() if request.everything else history.last()
    changes = history.standing(piece) if piece is not None else []
    if request.file:
        path = request.file.removeprefix("./")
        others = apart_from(changes, [path])
        changes = [change for change in changes if change not in others]
        if not changes:
            raise UsageError(f"the session has no change of {path!r} to undo")
    if piece is None or not changes:
        origin = records[0].data.get("forked_from", "") if records else ""
        raise PersonError(NOTHING + (FORKED.format(origin) if origin else ""))
    return Selection(piece, changes)


def has_changes(records: Sequence[Record]) -> bool:
    """Tell whether a session has changes that can be undone."""
    return History(records).last() is not None


def _last_undo(history: History) -> Selection:
    piece = history.last_undo()
    if piece is None:
        raise PersonError(NO_REDO)
    changes = (change for other in history.pieces for change in other.changes)
    again = tuple(change for change in changes if change.seq in piece.undoes)
    return Selection(piece, history.standing(piece), again)
