"""The output forms json and jsonl: for scripts, and for programs that answer approval requests."""

from typing import Any

from attrs import field, frozen
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Cancel,
    Resource,
    Screen,
    SessionInfo,
    hookimpl,
)

from nanocoder_ui_json.answers import read_answer
from nanocoder_ui_json.screens import open_lines, open_object
from nanocoder_ui_json.structured import Answers


@frozen
class Settings:
    """The table `[plugins.ui-json]`.

    *approve_stdin*: in jsonl, lines on standard input answer approval requests, each within
    *approval_timeout_s* seconds.
    """

    approve_stdin: bool = field(default=False, metadata={"user_only": True})
    approval_timeout_s: float = field(default=300.0, metadata={"tighten": "min"})


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.ui-json]`."""
    return Settings


@hookimpl
def nanocoder_screens() -> list[Screen]:
    """Offer json and jsonl."""
    return [
        Screen("json", open_object, "One JSON object when the run is over."),
        Screen("jsonl", open_lines, "One event a line, as it happens.", reads_stdin=True),
    ]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the validation of answers for `nanocoder run --schema`."""
    return [Resource("answers", lambda _info, _settings: Answers())]


@hookimpl
def nanocoder_approve(
    request: ApprovalRequest, session: SessionInfo, settings: Any, cancelled: Cancel
) -> ApprovalAnswer | None:
    """Read the answer of the program that reads the events, if the settings allow it."""
    if session.output != "jsonl" or settings is None or not settings.approve_stdin:
        return None

    limits = (settings.approval_timeout_s, request.timeout_s or settings.approval_timeout_s)
    return read_answer(request, min(limits), cancelled)
