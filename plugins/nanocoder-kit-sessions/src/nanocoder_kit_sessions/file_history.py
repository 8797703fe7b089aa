"""The files that a session changed, and in which of its runs, from its journal."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from nanocoder_kit_sessions.file_change import FileChange
from nanocoder_kit_sessions.records import Record
from nanocoder_kit_sessions.snapshots import CommandEntry, read_entries


@define(eq=False)
class Piece:
    """A unit of undo: a run, a single call, an undo or a redo.

    *title* names it for people, *tools* ran in it; *commands* are those of them whose file changes
    were observed in snapshots. *undoes* are the changes that an undo reverted; of an unfinished
    undo it is empty, and *begun* are the changes that it should have reverted.
    """

    kind: str
    at: float
    title: str = ""
    changes: list[FileChange] = field(factory=list)
    tools: list[str] = field(factory=list)
    commands: list[str] = field(factory=list)
    undoes: tuple[int | str, ...] = ()
    begun: tuple[int | str, ...] = ()


class History:
    """The pieces of a session, oldest first, and the changes undone since.

    *commands* is the session's log of changes by commands.
    """

    def __init__(self, records: Iterable[Record], commands: Sequence[CommandEntry] = ()) -> None:
        self.pieces: list[Piece] = []
        self.problem = next((entry.problem for entry in commands if entry.problem), "")
        self.forked_from = ""
        self._undone: set[int | str] = set()
        self._calls: list[str] = []
        self._started: dict[str, tuple[Piece, str]] = {}
        self._seq = 0
        self._open = False
        waiting = list(reversed(commands))
        for record in records:
            while waiting and waiting[-1].is_before(record.seq, record.at):
                self._saw(waiting.pop())
            self._take(record)
            self._seq = record.seq
            if record.kind == "session.started":
                self.forked_from = str(record.data.get("forked_from", ""))
        for entry in reversed(waiting):
            self._saw(entry)

    @classmethod
    def of_session(cls, records: Iterable[Record], folder: Path | None) -> "History":
        """Return the history of a session whose own files are in *folder*."""
        return cls(records, read_entries(folder))

    def last(self) -> Piece | None:
        """Return the last run or call with changes in effect, and the tools of later ones.

        Later ones changed no file through the workspace, but their commands may have changed any
        file, unless snapshots show that they changed none.
        """
        later: list[str] = []
        for piece in reversed(self.pieces):
            if piece.undoes:
                continue
            if self.standing(piece):
                last = self._with_begun(piece)
                return evolve(last, tools=[*last.tools, *later])
            later += piece.tools
        return None

    def _with_begun(self, undo: Piece) -> Piece:
        """Return an unfinished *undo* joined with the changes that it began to revert."""
        pieces = [piece for piece in self.pieces if piece is not undo]
        changes = [
            change
            for piece in pieces
            for change in self.standing(piece)
            if change.key in undo.begun
        ]
        tools = [tool for piece in pieces if {*piece.changes} & {*changes} for tool in piece.tools]
        return evolve(undo, changes=[*changes, *undo.changes], tools=[*tools, *undo.tools])

    def last_undo(self) -> Piece | None:
        """Return the last undo that has not been redone, or None."""
        pieces = (piece for piece in reversed(self.pieces) if piece.kind == "undo" and piece.undoes)
        return next((piece for piece in pieces if self.standing(piece)), None)

    def all(self) -> Piece:
        """Return all changes in effect as one piece."""
        return self.since(0)

    def since(self, seq: int) -> Piece:
        """Return the changes in effect from record *seq* on as one piece."""
        session = Piece("session", self.pieces[0].at if self.pieces else 0.0)
        for piece in self.pieces:
            changes = [change for change in self.standing(piece) if change.seq >= seq]
            if changes and not piece.undoes:
                session.changes += changes
                session.tools += piece.tools
                session.commands += piece.commands
        return session

    def of_call(self, call_id: str) -> Piece | None:
        """Return the changes of the last call with that id and of its nested calls, or None."""
        for piece in reversed(self.pieces):
            changes = [change for change in self.standing(piece) if _is_of(change, call_id)]
            if changes and not piece.undoes:
                return Piece("call", piece.at, f"call {call_id}", changes)
        return None

    def standing(self, piece: Piece) -> list[FileChange]:
        """Return the changes of *piece* that have not been undone."""
        return [change for change in piece.changes if change.key not in self._undone]

    def _take(self, record: Record) -> None:
        data = record.data
        if record.kind == "run.started":
            self._begin("run", record, data.get("prompt"))
        elif record.kind == "undo.started":
            # If an undo redid changes, only its own changes are reverted.
            begun = () if data.get("again") else _keys(data.get("undoes"))
            self._begin("undo", record, data.get("of")).begun = begun
        elif record.kind == "call.started":
            self._called(record)
        elif record.kind == "call.finished":
            self._calls = [call for call in self._calls if call != data.get("call_id")]
            self._open = self._open and (bool(self._calls) or self.pieces[-1].kind != "call")
        elif record.kind == "file.changed":
            self._changed(record)
        elif record.kind == "call.restored":
            self._restored(data)
        elif record.kind == "undo.finished":
            self._undid(data)
        elif record.kind in {"run.finished", "session.finished", "session.resumed"}:
            self._open, self._calls = False, []

    def _begin(self, kind: str, record: Record, title: object = "") -> Piece:
        self._open, self._calls = True, []
        self.pieces.append(Piece(kind, record.at, title if isinstance(title, str) else ""))
        return self.pieces[-1]

    def _called(self, record: Record) -> None:
        tool, call_id = str(record.data.get("tool", "")), str(record.data.get("call_id", ""))
        piece = self.pieces[-1] if self._open else self._begin("call", record, tool)
        piece.tools.append(tool)
        self._calls.append(call_id)
        self._started[call_id] = piece, tool

    def _changed(self, record: Record) -> None:
        # A call that was left behind may change a file when its run is over.
        piece = self.pieces[-1] if self.pieces else self._begin("call", record)
        change = FileChange.parse(record.seq, record.data, self._calls[-1] if self._calls else "")
        if change is not None:
            piece.changes.append(change)

    def _saw(self, entry: CommandEntry) -> None:
        """Add the observed changes by commands to the current piece."""
        for call_id in entry.ended:
            piece, tool = self._started.pop(call_id, (None, ""))
            if piece is not None:
                piece.tools.remove(tool)
                piece.commands.append(tool)
        if not self.pieces:
            return
        ours = [call_id for call_id in entry.calls if "/" not in call_id]
        call_id = next(reversed(ours or self._calls), "")
        self.pieces[-1].changes += [
            FileChange.of_command(change, entry, seq=self._seq, call_id=call_id)
            for change in entry.changes
        ]

    def _restored(self, data: Mapping[str, Any]) -> None:
        """Drop the changes that a transactional call has rolled back itself."""
        call_id = str(data.get("call_id", ""))
        if self.pieces and not data.get("not_restored"):
            changes = (change for change in self.pieces[-1].changes if _is_of(change, call_id))
            self._undone.update(change.key for change in changes)

    def _undid(self, data: Mapping[str, Any]) -> None:
        undone, again = _keys(data.get("undoes")), _keys(data.get("again"))
        self._undone |= set(undone)
        self._undone -= set(again)
        if self.pieces and self.pieces[-1].kind == "undo":
            self.pieces[-1].undoes = undone
            self.pieces[-1].kind = "redo" if again else "undo"
        self._open = False


def _is_of(change: FileChange, call_id: str) -> bool:
    """Return True if a call, or one that it made, has changed something."""
    return change.call_id == call_id or change.call_id.startswith(f"{call_id}.")


def _keys(value: object) -> tuple[int | str, ...]:
    items = value if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, int | str))
