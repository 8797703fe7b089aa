"""`nanocoder sessions undo`: put back what a session changed; a conversation uses the same."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen
from nanocoder_schema import Shown, Value

from nanocoder.cli.host import Agree, Host, Say
from nanocoder.cli.output import print_line
from nanocoder.cli.question import NEEDS_PERSON, is_agreed
from nanocoder.errors import PersonError, UsageError
from nanocoder.plugins import Plugins
from nanocoder.session.changed import FileChange, History, Piece
from nanocoder.session.journal import Journal
from nanocoder.session.records import Record
from nanocoder.session.store import SessionStore
from nanocoder.session.undoing import Plan, Undoing, apart_from, beyond, refusal
from nanocoder.session.workspaces import open_workspace

if TYPE_CHECKING:
    from nanocoder_files import Workspace

NOTHING = "nothing to undo: no file was changed, or everything was undone already"
FORKED = "; this session is a fork: undo earlier changes in {}"
NO_CALL = (
    "call {!r} has no change to undo; `nanocoder sessions show ID --output json` lists the ids"
)
ELSEWHERE = (
    "nothing was changed: the journal names files in {0}, but the session ran in {1};"
    " to undo in {0}, pass --cwd {0}"
)
NO_REDO = "nothing to redo"


@frozen(eq=False, repr=False)
class Wanted(Value):
    """What is to be taken back: the last run, one *call*, *everything*, or the last undoing.

    Of it only what was done to *file*, if there is one; with *force* also what was changed since.
    """

    call: str = ""
    everything: bool = False
    redo: bool = False
    file: str = ""
    force: bool = False


@frozen(eq=False, repr=False)
class Taken(Value):
    """What is taken back: a piece of the session, its changes, and those that stand again then."""

    piece: Piece
    changes: list[FileChange]
    again: tuple[FileChange, ...] = ()


@frozen(eq=False, repr=False)
class Desk(Shown):
    """What is needed to undo: the files, the session's journal, and whoever is asked."""

    workspace: "Workspace"
    journal: Journal
    plugins: Plugins
    say: Say
    agree: Agree
    force: bool = False

    def undo(self, taken: Taken) -> list[str] | None:
        """Show what would be done, ask, do it.

        Returns the paths that were put back, None without consent. Raises: PersonError.
        """
        artifacts = self.journal.artifacts
        backups = artifacts / "backups" if artifacts else None
        undoing = Undoing(self.workspace, backups, force=self.force)
        plan = undoing.plan(taken.piece, taken.changes)
        if plan.blocked and not taken.again:
            plan = self._without_blocked(undoing, plan, taken)
        self._show(plan)
        if not self.agree():
            return None
        undoing.carry_out(plan, self.journal, taken.again)
        return list(dict.fromkeys(one.path for one in plan.steps if one.action != "clear"))

    def _without_blocked(self, undoing: Undoing, plan: Plan, taken: Taken) -> Plan:
        """Leave files alone that were changed since, say so, and plan for the others."""
        rest = apart_from(taken.changes, plan.blocked)
        others = undoing.plan(taken.piece, rest)
        if not rest or others.problems:
            return plan
        ran = ", ".join(self._untracked(plan))
        by = f", perhaps by this session's own {ran}" if ran else ""
        for path, change in plan.blocked.items():
            self.say(f"left as it is: {path} {change}{by}; --force restores it, too")
        return others

    def _show(self, plan: Plan) -> None:
        if plan.problems:
            raise PersonError(refusal(plan))
        if diff := plan.diff():
            self.say(diff)
        for line in plan.lines() or ["every file is already as it was before"]:
            self.say(line)
        if more := self._untracked(plan):
            self.say(f"not undone (its side effects are not tracked): {', '.join(more)}")

    def _untracked(self, plan: Plan) -> list[str]:
        """Return the tools of *plan* that did more than change files through the workspace."""
        tools = self.plugins.tools().items()
        effects = {name: [str(effect) for effect in tool.effects] for name, tool in tools}
        return beyond(plan.piece.tools, effects)


def run(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    """Undo from the command line; without a person it takes `--yes`."""
    host.refuse_foreign_places()
    wanted = Wanted(arguments.call, arguments.all, arguments.redo, arguments.file, arguments.force)
    session_id = store.find(_session(store, host, arguments.id), cwd=host.cwd)
    if found := store.records(session_id):
        what(found, wanted)  # a session with nothing to undo is not opened: it would be the last
    records, journal = store.open(session_id)
    is_asked = not arguments.yes and host.is_interactive
    try:
        taken = what(records, wanted)
        root = Path(taken.changes[0].root)
        _refuse_elsewhere(root, records, host.cwd)
        if root != host.cwd:
            print_line(f"these are files in {root}:")
        with open_workspace(root, journal, host.config) as workspace:
            desk = Desk(
                workspace,
                journal,
                host.plugins,
                print_line,
                _agreed if is_asked else lambda: bool(arguments.yes),
                wanted.force,
            )
            files = desk.undo(taken)
    finally:
        journal.close()
    if files is None and not is_asked:
        host.say("Nothing changed: no terminal to confirm on. Pass --yes to do it without asking.")
        return NEEDS_PERSON
    way = f"sessions undo {journal.id}{'' if wanted.redo else ' --redo'}"
    print_line("Nothing was changed." if files is None else f"Done. To reverse it: nanocoder {way}")
    return 0


def what(records: Sequence[Record], wanted: Wanted) -> Taken:
    """Return what is taken back; raises PersonError when there is nothing."""
    history = History(records)
    if wanted.redo:
        return _undoing(history)
    if wanted.call:
        piece = history.of_call(wanted.call)
        if piece is None:
            raise UsageError(NO_CALL.format(wanted.call))
    else:
        piece = history.all() if wanted.everything else history.last()
    changes = history.standing(piece) if piece is not None else []
    if wanted.file:
        path = wanted.file.removeprefix("./")
        others = apart_from(changes, [path])
        changes = [one for one in changes if one not in others]
        if not changes:
            raise UsageError(f"the session has no change of {path!r} to undo")
    if piece is None or not changes:
        origin = records[0].data.get("forked_from", "") if records else ""
        raise PersonError(NOTHING + (FORKED.format(origin) if origin else ""))
    return Taken(piece, changes)


def _session(store: SessionStore, host: Host, wanted: str) -> str:
    """Return the session that is meant; a single call counts as the last if a change stands."""
    if wanted != "last":
        return wanted
    here = store.worked_in(host.cwd)
    found = (one.id for one in here if one.title or _has_changes(store, one.id))
    return next(found, wanted)


def _has_changes(store: SessionStore, session_id: str) -> bool:
    return History(store.records(session_id)).last() is not None


def _refuse_elsewhere(root: Path, records: Sequence[Record], here: Path) -> None:
    """Refuse a *root* that is neither *here* nor the session's own: a journal is only a file.

    Those inside the session, its sub-agents, write what they change into journals of their own.
    """
    held = records[0].data.get("cwd")
    if str(root) not in {str(here), held}:
        raise PersonError(ELSEWHERE.format(root, held))


def _undoing(history: History) -> Taken:
    piece = history.last_undoing()
    if piece is None:
        raise PersonError(NO_REDO)
    every = (one for other in history.pieces for one in other.changes)
    again = tuple(one for one in every if one.seq in piece.undoes)
    return Taken(piece, history.standing(piece), again)


def _agreed() -> bool:
    return is_agreed("Restore these files?")
