"""Putting back the files that a session changed: look at all of them first, then do it."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field, frozen
from nanocoder_schema import Shown, Value, counted

from nanocoder.errors import PersonError, ToolError
from nanocoder.session.changed import FileChange, Piece
from nanocoder.session.journal import Journal

if TYPE_CHECKING:
    from nanocoder_files import Workspace

ABSENT: Final = ""
DIRECTORY: Final = "directory"
OTHER: Final = "other"
KNOWN: Final = {"write", "delete", "move", "make_dirs", "remove_dir"}
BACKUP: Final = re.compile(r"[0-9a-f]{32}/[A-Za-z0-9._-]+")
NOT_LOST: Final = "nothing was changed"


@frozen(eq=False, repr=False)
class Step(Value):
    """One thing to do: "write", "remove" or "move" a file, "make" or "clear" a directory.

    *was* is the state that the path must be in: the digest of its content, or "" for nothing.
    """

    action: str
    path: str
    target: str = ""
    was: str = ABSENT
    state: str = ABSENT
    mode: int = 0


@define(eq=False, repr=False)
class Plan(Shown):
    """What will be done, in order; *problems* are reasons to do nothing of it.

    *blocked* are files that are no longer as the session left them, with what became of them.
    """

    piece: Piece
    changes: Sequence[FileChange] = ()
    steps: list[Step] = field(factory=list)
    problems: list[str] = field(factory=list)
    blocked: dict[str, str] = field(factory=dict)
    contents: dict[str, bytes] = field(factory=dict)

    def lines(self) -> list[str]:
        """Say in a line each what will be done."""
        words = {"write": "put back", "remove": "remove", "make": "make the directory"}
        return [
            f"move {one.path} back to {one.target}"
            if one.action == "move"
            else f"{words[one.action]} {one.path}"
            for one in self.steps
            if one.action != "clear"
        ]

    def diff(self) -> str:
        """Return what will change in the files as a unified diff."""
        return "\n".join(
            text
            for one in self.steps
            if one.action in {"write", "remove"}
            for text in _diff(one.path, self.contents.get(one.was), self.contents.get(one.state))
        )


class Undoing:
    """Plans against *workspace* as it is now; *backups* is where the session keeps its copies."""

    def __init__(
        self, workspace: "Workspace", backups: Path | None, *, force: bool = False
    ) -> None:
        """With *force* also files that were changed since are put back."""
        self._workspace = workspace
        self._force = force
        self._backups = backups
        self._states: dict[str, str] = {}
        self._copies: dict[str, FileChange] = {}
        self._moved: list[tuple[str, str]] = []

    def plan(self, piece: Piece, changes: Sequence[FileChange]) -> Plan:
        """Return how *changes* are taken back, the last first; nothing is changed yet."""
        plan = Plan(piece, changes)
        self._states, self._copies, self._moved = {}, {}, []
        elsewhere = {one.root for one in changes} - {str(self._workspace.root)}
        if elsewhere:
            plan.problems.append(f"it changed files below {', '.join(sorted(elsewhere))}")
            return plan
        for change in reversed(changes):
            try:
                name = change.change if change.change in KNOWN else "unknown"
                getattr(self, f"_{name}")(plan, change)
            except ToolError as error:
                plan.problems.append(str(error))
        self._fetch(plan)
        plan.problems = list(dict.fromkeys(plan.problems))
        return plan

    def carry_out(self, plan: Plan, journal: Journal, again: Iterable[FileChange] = ()) -> None:
        """Do what *plan* says, and write down that it was done.

        *again* are the changes that stand once more, when an undoing is taken back. Raises:
        PersonError, which says what has been done when something came in between.
        """
        if plan.problems:
            raise PersonError(refusal(plan))
        journal.append("undo.started", {"of": plan.piece.about})
        done: list[str] = []
        for step in plan.steps:
            try:
                self._do(plan, step)
            except ToolError as error:
                said = f"done so far: {', '.join(done)}" if done else NOT_LOST
                raise PersonError(f"{error}; {said}") from error
            done.append(step.path)
        told = {"undoes": [one.seq for one in plan.changes], "again": [one.seq for one in again]}
        files = list(dict.fromkeys(one.path for one in plan.steps if one.action != "clear"))
        journal.append("undo.finished", {**told, "files": files}, sync=True)

    def _do(self, plan: Plan, step: Step) -> None:
        workspace = self._workspace
        if step.action in {"write", "remove", "move"}:
            # What is changed is what was looked at for the plan, whatever the model knows of it.
            workspace.note_read(step.path, step.was if step.action != "move" else "")
        if step.action == "write":
            data = plan.contents[step.state]
            workspace.write_bytes(step.path, data, expect_digest=step.was, mode=step.mode or None)
        elif step.action == "remove":
            workspace.delete(step.path)
        elif step.action == "move":
            workspace.move(step.path, step.target)
        elif step.action == "make":
            workspace.make_dirs(step.path)
        else:
            self._clear(step.path)
        if step.action == "write":
            # The model knows the content that is gone: it has to read again before it writes.
            workspace.note_read(step.path, step.was)

    def _clear(self, path: str) -> None:
        """Remove a directory that a change had made, unless something else lies in it by now."""
        try:
            self._workspace.remove_dir(path)
        except ToolError:
            return

    # How each change is taken back

    def _write(self, plan: Plan, change: FileChange) -> None:
        now = self._state(plan, change.path)
        is_meant = now == change.after or (self._force and now not in {DIRECTORY, OTHER})
        if is_meant and now != change.before:
            self._put(plan, change, change.path)
            self._clear_made(plan, change)
        elif now != change.before and not _is_earlier(plan, change, now):
            self._block(plan, change.path, now)

    def _delete(self, plan: Plan, change: FileChange) -> None:
        now = self._state(plan, change.path)
        if change.kind != "file":
            plan.problems.append(
                f"{change.path} was a link or a special file, and no copy of those is kept"
            )
        elif now == ABSENT or (self._force and now not in {DIRECTORY, OTHER, change.before}):
            self._put(plan, change, change.path)
        elif now != change.before:
            self._block(plan, change.path, now)

    def _move(self, plan: Plan, change: FileChange) -> None:
        source, target = change.path, change.target
        here, there = self._state(plan, source), self._state(plan, target)
        if here != ABSENT and there in {change.before, ABSENT}:
            return  # it was announced and did not happen
        wanted = DIRECTORY if change.kind == DIRECTORY else change.after or there
        if here != ABSENT or there != wanted or there == ABSENT:
            changed = source if here != ABSENT else target
            self._block(plan, changed, here or there)
            return
        plan.steps.append(Step("move", target, source, was=there))
        self._follow(source, target)
        self._states[source], self._states[target] = there, ABSENT
        if change.before:
            self._put(plan, change, target)
        self._clear_made(plan, change)

    def _block(self, plan: Plan, path: str, now: str) -> None:
        plan.blocked[path] = _since(now)
        plan.problems.append(f"{path} {_since(now)}")

    def _make_dirs(self, plan: Plan, change: FileChange) -> None:
        self._clear_made(plan, change)

    def _remove_dir(self, plan: Plan, change: FileChange) -> None:
        if self._state(plan, change.path) == ABSENT:
            plan.steps.append(Step("make", change.path))
            self._states[change.path] = DIRECTORY

    def _unknown(self, plan: Plan, change: FileChange) -> None:
        plan.problems.append(f"{change.path}: a change of an unknown kind, {change.change!r}")

    def _clear_made(self, plan: Plan, change: FileChange) -> None:
        plan.steps.extend(Step("clear", path) for path in reversed(change.made))

    def _put(self, plan: Plan, change: FileChange, path: str) -> None:
        """Plan *path* to become what it was before *change*; several writes become one."""
        was = self._states[path]
        self._copies.setdefault(change.before, change)
        action = "write" if change.before else "remove"
        step = Step(action, path, was=was, state=change.before, mode=change.mode)
        self._states[path] = change.before
        for earlier in reversed(plan.steps):
            if earlier.action == "move":
                break
            if earlier.path == path and earlier.action in {"write", "remove"}:
                plan.steps.remove(earlier)
                step = evolve(step, was=earlier.was)
                break
        if step.was != step.state:
            plan.steps.append(step)

    def _fetch(self, plan: Plan) -> None:
        """Get the copies that are needed; those of states in between need not be there."""
        for state in {one.state for one in plan.steps if one.action == "write"}:
            try:
                if state not in plan.contents:
                    plan.contents[state] = self._backup(self._copies[state])
            except ToolError as error:
                plan.problems.append(str(error))

    def _backup(self, change: FileChange) -> bytes:
        """Return the copy of what *change* replaced; raises ToolError when it is not whole."""
        from nanocoder_files import MAX_BYTES  # who undoes has loaded it

        gone = ToolError(f"the earlier copy of {change.path} is no longer kept")
        if self._backups is None or not BACKUP.fullmatch(change.backup):
            raise gone
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # nobody writes into a pipe there
            descriptor = os.open(self._backups / change.backup, flags)
            with os.fdopen(descriptor, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(MAX_BYTES) if size <= MAX_BYTES else b""
        except OSError:
            raise gone from None
        if size > MAX_BYTES:
            raise ToolError(
                f"the earlier copy of {change.path} has {size:,} bytes; at most"
                f" {MAX_BYTES:,} are restored"
            )
        if _digest(data) != change.before:
            raise gone
        return data

    # What is where, as far as the plan has come

    def _state(self, plan: Plan, path: str) -> str:
        if path not in self._states:
            self._states[path] = self._on_disk(plan, self._origin(path))
        return self._states[path]

    def _origin(self, path: str) -> str:
        """Return where on the disk that lies now which the plan will have moved to *path*."""
        for source, target in reversed(self._moved):
            if path == source or path.startswith(f"{source}/"):
                path = target + path[len(source) :]
        return path

    def _follow(self, source: str, target: str) -> None:
        """Let what is known below *target* be known below *source*, where it is moved back to."""
        self._moved.append((source, target))
        for path in [one for one in self._states if one.startswith(f"{target}/")]:
            self._states[source + path[len(target) :]] = self._states.pop(path)

    def _on_disk(self, plan: Plan, path: str) -> str:
        folder, _, name = path.rpartition("/")
        if not self._workspace.is_dir(folder or "."):
            return ABSENT
        kinds = {entry.name: entry.kind for entry in self._workspace.scan(folder or ".")}
        kind = kinds.get(name, ABSENT)
        if kind != "file":
            return {ABSENT: ABSENT, "dir": DIRECTORY}.get(kind, OTHER)
        data = self._workspace.read_bytes(path)
        digest = _digest(data)
        plan.contents[digest] = data
        return digest


def _is_earlier(plan: Plan, change: FileChange, now: str) -> bool:
    """Tell whether *now* is what an earlier change found: a call that failed was taken back."""
    found = [one for one in plan.changes if one.path == change.path and one.seq < change.seq]
    return any(one.before == now for one in found)


def apart_from(changes: Sequence[FileChange], paths: Iterable[str]) -> list[FileChange]:
    """Return the *changes* that neither touch *paths* nor where those were moved."""
    tied = set(paths)
    while True:
        more = {
            path
            for change in changes
            if change.target and {change.path, change.target} & tied
            for path in (change.path, change.target)
        }
        if more <= tied:
            return [one for one in changes if not {one.path, one.target} & tied]
        tied |= more


def refusal(plan: Plan) -> str:
    """Say why nothing of *plan* is done."""
    return f"{NOT_LOST}: {'; '.join(plan.problems)}"


def beyond(tools: Iterable[str], effects: Mapping[str, Iterable[str]]) -> list[str]:
    """Return which of *tools* did more than change files here, so that undoing is not all.

    *effects* are those of the tools that are known; an unknown tool may have done anything.
    """
    harmless = {"read", "write", "idempotent", "reversible"}
    return sorted({one for one in tools if not {*effects.get(one, ["unknown"])} <= harmless})


def _digest(data: bytes) -> str:
    from hashlib import sha256  # as in the workspace's content

    return sha256(data).hexdigest()


def _since(now: str) -> str:
    return "has been changed since" if now else "has been removed since"


def _diff(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    from difflib import unified_diff  # undoing is rare

    try:
        before, after = ((one or b"").decode().splitlines() for one in (old, new))
    except UnicodeDecodeError:
        yield f"binary file {path}: {counted(len(old or b''), 'byte')} become {len(new or b''):,}"
        return
    source = f"a/{path}" if old is not None else "/dev/null"
    target = f"b/{path}" if new is not None else "/dev/null"
    yield from unified_diff(before, after, source, target, lineterm="")
