"""Replacements of the outside world in a replay: tools, people, and the store of sessions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Journal,
    Store,
    StoredSession,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    UsageError,
    hookimpl,
)

from nanocoder_provider_replay.journal import ReplayJournal
from nanocoder_provider_replay.recording import Recording, of_runs

PLUGIN: Final = "replayed"
"""The name that the playback has among the plugins, and that every tool belongs to."""
STORE: Final = "replay"
RESULT_FIELDS: Final = ("title", "output", "data", "metadata", "artifact")
REFUSED: Final = "denied by the user"
FIRST: Final = -1
"""Before every plugin whose preview reads the present workspace."""


class Playback:
    """The hooks of one replay, to be added to the installed plugins."""

    def __init__(self, recording: Recording, may_differ: Sequence[str] = ()) -> None:
        self.journal = ReplayJournal(recording, may_differ)
        self._results = dict[str, list[ToolResult]]()  # models repeat ids
        self._answers = dict[str, list[Mapping[str, Any]]]()
        for record in of_runs(recording.records):
            self._take(record["kind"], record["data"])

    @hookimpl
    def nanocoder_stores(self) -> list[Store]:
        """Offer the store in which the replay is compared."""
        return [Store(STORE, lambda *_: ReplaySessions(self.journal))]

    @hookimpl
    def nanocoder_tools(self, tools: Mapping[str, Tool[..., Any]]) -> list[Tool[..., Any]]:
        """Return every tool with a handler that returns the recorded result."""
        return [self._played(tool) for tool in tools.values()]

    @hookimpl(rank=FIRST)
    def nanocoder_render(self) -> str:
        """Preview nothing: the files that a preview shows may be others today."""
        return "(the recorded result is played)"

    def approve(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Answer as the person has answered."""
        answers = self._answers.get(request.call.id)
        if not answers:
            return None
        return ApprovalAnswer(request.id, request.digest, **answers.pop(0))

    def _take(self, kind: str, data: Mapping[str, Any]) -> None:
        answers = self._answers.setdefault(str(data.get("call_id", "")), [])
        if kind == "call.finished" and isinstance(data.get("result"), dict):
            results = self._results.setdefault(str(data.get("call_id", "")), [])
            results.append(_result(data["result"]))
        elif kind == "call.edited":
            answers.append({"approved": True, "arguments": data.get("arguments", {})})
        elif kind == "call.approved":
            consent = {
                name: data[name] for name in ("always", "scope", "lasts_s", "uses") if name in data
            }
            actors = data.get("actors") or [""]
            answers += [{"approved": True, **consent, "actor": str(actor)} for actor in actors]
        elif kind == "call.denied" and str(data.get("message", "")).startswith(REFUSED):
            reason = str(data["message"]).removeprefix(REFUSED).removeprefix(": ")
            answers.append({"approved": False, "reason": reason})

    def _played(self, tool: Tool[..., Any]) -> Tool[..., Any]:
        def play(ctx: ToolContext, **_arguments: Any) -> ToolResult:
            if results := self._results.get(ctx.message_id):
                return results.pop(0)
            problem = f"the recording has no result of the call {ctx.message_id}"
            raise ToolError(problem, error_class="not_recorded")

        def load() -> Tool[..., Any]:
            # Nothing is changed, so nothing can be restored.
            return evolve(tool.real(), handler=play, plugin=PLUGIN, transactional=False, load=None)

        # The plugin of a tool is asked for a preview in any case, and the files are others today.
        return evolve(tool, plugin=PLUGIN, load=load)


class ReplaySessions:
    """The store of one replay: the session has the recorded id and is not saved."""

    def __init__(self, journal: ReplayJournal) -> None:
        self._journal = journal

    def start(
        self,
        cwd: Path,
        model: str,
        mode: str,
        *,
        origin: Mapping[str, str] | None = None,
        parent: Journal | None = None,
    ) -> Journal:
        """Start the session that is compared."""
        del parent  # the result of a sub-agent is played, so it starts none
        data = {"cwd": str(cwd), "model": model, "mode": str(mode), **(origin or {})}
        self._journal.append("session.started", data)
        return self._journal

    def find(self, name: str, *, cwd: Path | None = None) -> str:
        """Find nothing; raises UsageError (session_not_found)."""
        del cwd
        raise UsageError(f"a replay has no session {name!r}", error_class="session_not_found")

    def resume(self, name: str, *, cwd: Path | None = None) -> StoredSession:
        """Resume nothing; raises UsageError (session_not_found)."""
        self.find(name, cwd=cwd)
        raise AssertionError(name)


def _result(data: Mapping[str, Any]) -> ToolResult:
    """Return a recorded result as the handler returned it; the core adds its part again."""
    fields = {name: data[name] for name in RESULT_FIELDS if data.get(name)}
    metadata = dict(fields.pop("metadata", {}))
    output, note = str(fields.pop("output", "")), metadata.pop("note", None)
    if isinstance(note, str):
        output = output.removeprefix(f"{note}\n")
    return ToolResult(
        output,
        metadata=metadata,
        is_error=data.get("is_error") is True,
        error_class=str(data.get("error_class", "")),
        **fields,
    )
