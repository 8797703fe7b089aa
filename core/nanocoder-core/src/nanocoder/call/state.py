"""The state of one call: its session, the results of each stage, and its changes."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import Factory, field
from nanocoder_schema import NanocoderError, canonical_json, clip, copy_arguments, evolve, mutable

from nanocoder.call.worker import Worker
from nanocoder.cancel import Cancel
from nanocoder.config import Config
from nanocoder.errors import Cancelled
from nanocoder.plugins import Plugins
from nanocoder.tools.outcome import call_data, result_data, result_of_error, status_of
from nanocoder.tools.queue import Admission
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import ANY_TOOL, Tool, ToolInfo, Tools
from nanocoder.values import (
    Access,
    ApprovalAnswer,
    ApprovalRequest,
    Effect,
    Event,
    Question,
    Risk,
    ToolCall,
    ToolResult,
    Verdict,
)

if TYPE_CHECKING:
    from nanocoder_files import Restored, Rollback, Snapshot, Workspace

RESTORED_CHARS = 2_000
"""The longest list of restored files that the model reads."""

Approver = Callable[[ApprovalRequest], ApprovalAnswer | None]
Asker = Callable[[Question], str | None]


class CallSession(Protocol):
    """Interface of a session to its calls.

    *approve* and *ask* put a request to its person in place of the plugins. *remembered_consent*
    counts for how many more calls an approval for the session holds, by its key; FOREVER for any
    number. A sub-agent's session may share it.
    """

    plugins: Plugins
    config: Config
    info: SessionInfo
    admission: Admission
    approve: Approver | None
    ask: Asker | None
    remembered_consent: dict[tuple[str, ...], int]

    @property
    def tools(self) -> Tools:
        """The tools that may be called, by name."""

    def tool_infos(self) -> tuple[ToolInfo, ...]:
        """Return the descriptions of the offered tools, for other tools."""

    def hook_context(self, **subject: Any) -> dict[str, Any]:
        """Return the arguments that every hook may take, and those of one hook, its *subject*."""

    def open_workspace(self) -> "Workspace":
        """Return the workspace, opened before the first call."""

    def resource(self, plugin: str, name: str) -> Any:
        """Return the resource *name* of *plugin*, which the session opens once and closes."""

    def keep_output(self, name: str, data: bytes) -> str:
        """Store a full output; return its path, or "" on failure."""

    def wrap(
        self, argv: list[str], ports: Sequence[int], access: Access | None = None
    ) -> list[str]:
        """Return *argv* as the session's sandbox runs it with *access*."""

    def sandbox_changes(self) -> Sequence[str]:
        """Return a line for each change that the sandbox has undone; raises ToolError."""


@mutable
class CallState:
    """The state of one call on the path.

    *parent* is the composed call that it is a step of; the step inherits its state and the snapshot
    of the files that a person saw. *recording* is the workspace of a transactional call, which its
    steps share, and *rollback* reverts all changes made through it. *arguments* are the checked
    ones that the handler gets, *understood* the corrections of names and values that the tool does
    not take. *is_agreed*: a person approved the call as a whole, so its steps need no approval of
    their own while it runs. *changed_by* names the plugin or person that changed the model's
    arguments, *actors* the people who approved the call. *foresee* yields the calls after this one
    in its turn, each with a trial to judge it by, and *early* is a request that was answered with
    those of an earlier call. With a *result* the call is over, or never runs.
    """

    call: ToolCall
    cancel: Cancel
    parent: "CallState | None" = None
    tool: Tool[..., Any] = field(init=False)
    verdict: Verdict = field(init=False)
    worker: Worker = Factory(lambda self: Worker(self.cancel), takes_self=True)
    arguments: dict[str, Any] = field(factory=dict)
    understood: Sequence[str] = ()
    is_agreed: bool = False
    changed_by: str = ""
    actors: list[str] = field(factory=list)
    foresee: "Callable[[], Iterable[tuple[CallState, CallState]]]" = tuple
    early: "tuple[ApprovalRequest, ApprovalAnswer] | None" = None
    is_running: bool = False
    state: dict[str, Any] = field(factory=dict)
    snapshot: "Snapshot | None" = None
    recording: "Workspace | None" = None
    rollback: "Rollback | None" = None
    tmp_dir: Path | None = None
    result: ToolResult | None = None
    queued_s: float = 0.0
    running_beside: int = 0
    asked_s: float = 0.0
    stages: list[list[Any]] = field(factory=list)
    _received: float = field(factory=time.perf_counter)
    _stage: str = ""
    _entered: float = 0.0

    def __attrs_post_init__(self) -> None:
        if self.parent is not None:
            # The same objects, not copies: steps add to their parent's.
            self.state, self.snapshot = self.parent.state, self.parent.snapshot
            self.recording = self.parent.recording

    @property
    def depth(self) -> int:
        """The number of composed calls around this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def is_covered(self) -> bool:
        """Return True if the approval of the parent, which still runs, holds for this step."""
        parent = self.parent
        if parent is None or not (parent.is_running and parent.is_agreed):
            return False
        return parent.tool.single_confirmation and ANY_TOOL not in parent.tool.composed_of

    @property
    def outcome(self) -> ToolResult:
        """The result; "interrupted" for a call without one."""
        return self.result or result_of_error(self.call, Cancelled("interrupted"))

    def event(self, kind: str, **data: Any) -> Event:
        """Return an event of this call."""
        return Event(kind, data, self.call.id)

    def change(self, kind: str, who: str, arguments: Mapping[str, Any], **data: Any) -> Event:
        """Replace the call's arguments by *arguments* and return the event for it.

        Raises: BadArguments.
        """
        # It stays set: policies that count calls count a call only once.
        edited = self.call.edited or kind == "call.edited"
        self.call = evolve(self.call, arguments=copy_arguments(arguments), edited=edited)
        self.arguments = self.tool.signature.check(self.call.arguments)
        self.changed_by = who
        return self.event(kind, arguments=self.call.arguments, **data)

    def enter(self, stage: str, error_class: str = "") -> None:
        """End the current stage, failed if there is an *error_class*, and begin another."""
        now = time.perf_counter()
        if self._stage:
            began = milliseconds(self._entered - self._received)
            row = [self._stage, began, milliseconds(now - self._entered)]
            self.stages.append([*row, error_class] if error_class else row)
        self._stage, self._entered = stage, now

    def fail(self, error: NanocoderError) -> Event:
        """End the call with *error*; return the event that names the stage."""
        self.result = result_of_error(self.call, error)
        kind = "call.failed" if status_of(self.result) == "error" else "call.denied"
        data = {**call_data(self.call), "stage": self._stage, "error_class": error.error_class}
        # A failure in the last stage has no stage after it.
        self.enter("output" if self._stage != "output" else "", error.error_class)
        return self.event(kind, **data, message=str(error))

    def returned(self) -> Event:
        """Complete the result; return the call's last event, which has the times of its stages."""
        took = milliseconds(time.perf_counter() - self._received)
        self.result = evolve(self.outcome, call_id=self.call.id, duration_ms=took)
        self.enter("")
        waits = {"queued_ms": self.queued_s, "asked_ms": self.asked_s}
        times = {name: milliseconds(seconds) for name, seconds in waits.items() if seconds}
        beside = {"running_beside": self.running_beside} if self.running_beside else {}
        data = {**result_data(self.call, self.result), **times, **beside, "stages": self.stages}
        return self.event("call.returned", ran_ms=milliseconds(self.worker.ran_s), **data)

    def make_tmp_dir(self) -> Path:
        """Return the call's private directory, created at first use."""
        if self.tmp_dir is None:
            import tempfile

            # mkdtemp creates it for the user alone: other users must not read or replace files.
            self.tmp_dir = Path(tempfile.mkdtemp(prefix="nanocoder-"))
        return self.tmp_dir

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the call's result: its queue time and temporary directory."""
        queued = {"queued_ms": milliseconds(self.queued_s)} if self.queued_s else {}
        return queued | ({"tmp_dir": str(self.tmp_dir)} if self.tmp_dir else {})

    def workspace(self, open_workspace: "Callable[[], Workspace]") -> "Workspace":
        """Return the workspace of the call: of its transaction, with the snapshot a person saw."""
        workspace = self.recording or open_workspace()
        return workspace.expecting(self.snapshot) if self.snapshot else workspace

    def begin(self, session_id: str, open_workspace: "Callable[[], Workspace]") -> None:
        """Start the run; a transactional call records its changes, unless its parent does."""
        self.is_running = True
        if self.tool.transactional and self.recording is None:
            names = f"{session_id}-{self.call.id}", f"{self.call.name} of session {session_id}"
            executes = Effect.EXECUTE in self.tool.effects
            self.recording, self.rollback = open_workspace().recording(*names, processes=executes)

    def end(self, *, keep_tmp: bool) -> None:
        """End the run: its approval of steps ends, and the private directory is removed."""
        self.is_running = False
        if self.tmp_dir is not None and not keep_tmp:
            import shutil

            # A file that a process still uses must not turn the result into a failure.
            shutil.rmtree(self.tmp_dir, ignore_errors=True)
            self.tmp_dir = None
        parent = self.parent
        if parent is not None and parent.snapshot and Effect.EXECUTE in self.tool.effects:
            parent.snapshot.clear()  # a step may have changed any file

    def settle(self) -> Event | None:
        """Keep the changes of a transactional call, or revert them if it failed.

        Returns the event that lists the restored files, or None.
        """
        result, rollback = self.result, self.rollback
        if result is None or rollback is None:
            return None
        # From here on `close` has nothing to restore.
        self.rollback = None
        if not result.is_error:
            rollback.discard()
            return None
        restored = rollback.restore()
        if not (restored.paths or restored.lost):
            return None
        paths = {"restored": list(restored.paths), "not_restored": list(restored.lost)}
        metadata = {**result.metadata, **{name: value for name, value in paths.items() if value}}
        output = f"{result.output}\n{_describe(restored)}"
        self.result = evolve(result, output=output, metadata=metadata)
        return self.event("call.restored", **paths)

    def close(self) -> None:
        """Release everything; without a result, revert the changes of a transactional call."""
        self.cancel.close()
        rollback, self.rollback = self.rollback, None
        if rollback is not None:
            rollback.restore()


def milliseconds(seconds: float) -> float:
    """Return a duration in milliseconds, as events have it."""
    return round(seconds * 1_000, 3)


def _describe(restored: "Restored") -> str:
    parts = [*restored.lost, *filter(None, [restored.then])]
    if restored.paths:
        parts.insert(0, f"restored to the state before this call: {', '.join(restored.paths)}")
    return f"[{clip('; '.join(parts), head=RESTORED_CHARS // 2, tail=RESTORED_CHARS // 2)}]"


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of *arguments*, which an answer must echo."""
    # A lone surrogate, which JSON may hold, cannot be encoded.
    return hashlib.sha256(canonical_json(dict(arguments)).encode("utf-8", "replace")).hexdigest()


def consent_key(verdict: Verdict, call: ToolCall, tool: Tool[..., Any]) -> tuple[str, ...]:
    """Return the key under which an approval with "always" is remembered."""
    exact = digest_of(call.arguments) if _is_exact(call, tool) else ""
    return (call.name, verdict.rule, verdict.reason, exact)


def _is_exact(call: ToolCall, tool: Tool[..., Any]) -> bool:
    """Return True if "always" covers the same arguments only, because a person has to see them."""
    # A tool that declares no effects may have any.
    reaches_out = not tool.effects or bool(tool.effects & {Effect.EXECUTE, Effect.NETWORK})
    return reaches_out or tool.risk is Risk.DESTRUCTIVE or tool.wants_consent(call.arguments)


def scope_of_always(verdict: Verdict, call: ToolCall, tool: Tool[..., Any]) -> str:
    """Return a phrase for the calls that "always" would approve."""
    if verdict.persons > 1:
        return "this call only, because several people have to approve it"
    if _is_exact(call, tool):
        return f"{call.name} with exactly these arguments, in this session"
    if verdict.rule:
        return f"every {call.name} call that {verdict.rule!r} asks about, in this session"
    return f"every {call.name} call in this session, for any file"
