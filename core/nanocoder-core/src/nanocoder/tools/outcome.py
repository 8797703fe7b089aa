"""The outcome of a call as data: for the journal, for scripts, and for the model."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nanocoder_schema import (
    NanocoderError,
    OutputLimit,
    canonical_json,
    clip,
    clip_output,
    evolve,
    for_model,
    json_problem,
    wrong_field,
)

from nanocoder.values import ApprovalRequest, Attachment, ToolCall, ToolResult, Verdict

FORBIDDEN = frozenset(
    (
        *("denied", "path_outside_workspace", "private_address", "protected_path"),
        *("refused_root", "scheme_not_allowed", "undeclared_subtool"),
    )
)
"""Error classes of refusals, by a rule or a person, or of calls that nothing could allow."""

MESSAGE_HEAD_CHARS = 8_000
MESSAGE_TAIL_CHARS = 2_000
"""Characters kept of an error message's head and tail."""


OUTPUT_LIMIT = OutputLimit(40_000, 10_000, 1_500, 500)
"""The longest output of one result that a model reads; errors sit at the end."""


def as_result(value: Any, name: str) -> ToolResult:
    """Return a handler's value as a ToolResult: itself, text, or a JSON-ready value.

    Raises: TypeError for a result with a field of another type than declared.
    """
    if isinstance(value, ToolResult):
        refuse_unsound(value)
        return value if value.title else evolve(value, title=name)
    if isinstance(value, str):
        return ToolResult(value, title=name)
    if problem := json_problem(value):
        raise TypeError(f"what it returned cannot be JSON: {problem}")
    return ToolResult("" if value is None else canonical_json(value), title=name, data=value)


def refuse_unsound(result: ToolResult) -> None:
    """Raise TypeError, naming the field, for a result with a field of a wrong type.

    The journal stores data and metadata as JSON; without a record of its end a call seems to run.
    """
    if problem := wrong_field(result):
        raise TypeError(problem)
    for item in result.attachments:
        if not isinstance(item, Attachment):
            raise TypeError(f"ToolResult.attachments holds {type(item).__name__}, not Attachment")
    for name, value in (("data", result.data), ("metadata", dict(result.metadata))):
        if problem := json_problem(value):
            raise TypeError(f"ToolResult.{name} cannot be JSON: {problem}")


def accept(before: ToolResult, after: ToolResult) -> ToolResult:
    """Return the result *after* a plugin's change; raises TypeError if it is not valid."""
    refuse_unsound(after)
    # A secret redacted from the text is still in the data.
    is_stale = after.output != before.output and after.data is before.data
    return evolve(after, data=None) if is_stale else after


def clean_and_clip(output: str, where: str = "") -> str:
    """Return a dialect's *output*, cleaned and clipped for a model; *where* holds all of it.

    Lines are not limited: a dialect clips as its reference does.
    """
    chars = OutputLimit(OUTPUT_LIMIT.head_chars, OUTPUT_LIMIT.tail_chars, 50_000, 50_000)
    return clip_output(for_model(output), chars, where=where)


def limit_output(name: str, result: ToolResult, keep: Callable[[str, bytes], str]) -> ToolResult:
    """Clip a result for the model; the full output is stored as the artifact *name*."""
    clean = for_model(result.output)
    if OUTPUT_LIMIT.holds(clean):
        return result if clean is result.output else evolve(result, output=clean)
    where = result.artifact
    if not where:
        # A lone surrogate cannot be encoded; the rest of the output is stored.
        where = keep(f"{name}.txt", clean.encode("utf-8", "replace"))
    metadata = {**result.metadata, "truncated": True}
    output = clip_output(clean, OUTPUT_LIMIT, where=where)
    return evolve(result, output=output, artifact=where, metadata=metadata)


def call_data(call: ToolCall) -> dict[str, Any]:
    """Return a call as JSON-ready data."""
    origin = {"parent": call.parent_id, "edited": call.edited, "typed": call.typed}
    return {"tool": call.name, "arguments": call.arguments, **origin}


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON-ready data."""
    names = ("decision", "reason", "rule", "source", "plugin")
    texts = {name: str(getattr(verdict, name)) for name in names}
    obligations = {"sandbox": verdict.sandbox, "access": verdict.access}
    return {**texts, **obligations, "persons": verdict.persons}


def request_data(request: ApprovalRequest) -> dict[str, Any]:
    """Return an approval request as JSON-ready data."""
    names = ("id", "sequence", "digest", "reason", "preview", "timeout_s", "always", "grants")
    data = {name: getattr(request, name) for name in (*names, "approved_by")}
    call = {"tool": request.call.name, "arguments": request.call.arguments}
    group = [{**request_data(each), "call_id": each.call.id} for each in request.group]
    return {**data, **call, "risk": str(request.risk), "group": group}


def with_notes(
    call: ToolCall,
    result: ToolResult,
    changed_by: str,
    undone: Sequence[str],
    understood: Sequence[str] = (),
) -> ToolResult:
    """Add notes for the model: corrections of its call, who changed it, and undone changes.

    `keep_note` finds a note again if a dialect rewords the result.
    """
    if changed_by:  # the transcript has the model's own arguments
        arguments = clip(canonical_json(dict(call.arguments)), head=1_000, tail=500)
        note = f"[{changed_by} changed the arguments to {arguments}]"
        metadata = {**result.metadata, "note": note}
        result = evolve(result, output=f"{note}\n{result.output}", metadata=metadata)
    if understood:
        note = f"[understood: {'; '.join(understood)}]"
        metadata = {**result.metadata, "understood": list(understood)}
        result = evolve(result, output=f"{result.output}\n{note}".lstrip("\n"), metadata=metadata)
    if undone:  # at the end, which is never clipped
        note = "\n  ".join(("[the sandbox did not let this take effect outside:", *undone)) + "]"
        metadata = {"note": note, **result.metadata, "undone": list(undone)}
        result = evolve(result, output=f"{result.output}\n{note}".lstrip("\n"), metadata=metadata)
    return result


def keep_note(result: ToolResult, text: str) -> str:
    """Return a dialect's *text* for the result with the result's note before it."""
    note = result.metadata.get("note")
    # A dialect's text for an error may begin with the output, and so with the note.
    return text if not isinstance(note, str) or note[:20] in text else f"{note}\n{text}"


def result_data(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return a result as JSON-ready data, as `call --output json` prints it."""
    names = ("error_class", "title", "output", "data", "metadata", "artifact", "duration_ms")
    data = {name: getattr(result, name) for name in names}
    metadata = dict(result.metadata)
    return {"tool": call.name, "status": status_of(result), **data, "metadata": metadata}


def status_of(result: ToolResult) -> str:
    """Return the status: "ok", "denied", "approval_needed" or "error"."""
    if not result.is_error:
        return "ok"
    if result.error_class == "approval_needed":
        return "approval_needed"
    return "denied" if result.error_class in FORBIDDEN else "error"


def result_of_error(call: ToolCall, error: NanocoderError) -> ToolResult:
    """Return the result of a failed call."""
    # A message may quote any text: of a model, a file's name, a plugin's exception.
    message = for_model(clip(str(error), head=MESSAGE_HEAD_CHARS, tail=MESSAGE_TAIL_CHARS))
    data = getattr(error, "data", None) or None
    problem = json_problem(data)
    return ToolResult(
        message,
        title=f"Error: {call.name}",
        # Data that is not JSON is dropped to keep the message.
        data=None if problem else data,
        metadata={"error": True, "unwritable": problem} if problem else {"error": True},
        is_error=True,
        error_class=error.error_class,
        call_id=call.id,
    )


def not_run(calls: Iterable[ToolCall], why: str) -> list[ToolResult]:
    """Return a result for each call that never ran: every call of a model needs one."""
    message = f"not run: {why}"
    return [
        ToolResult(message, title=call.name, is_error=True, error_class="not_run", call_id=call.id)
        for call in calls
    ]
