"""The calls of a turn, each as an element that opens."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Final

from nanocoder import Attachment, ToolCall, ToolResult, brief, one_line

from nanocoder_kit_html.code import diff_html, is_diff
from nanocoder_kit_html.text import block_html, text_html

PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
BRIEF_COLUMNS: Final = 90


def calls_html(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> Iterator[str]:
    """Yield each of *calls* with its result among *results*."""
    # A provider may use an ID twice in one turn.
    waiting = list(results)
    for call in calls:
        result = next((each for each in waiting if each.call_id == call.id), None)
        if result is not None:
            waiting.remove(result)
        yield call_html(call, result)


def call_html(call: ToolCall, result: ToolResult | None, *, missing: str = "no result") -> str:
    """Return a call with its arguments and its result; *missing* says why there is none."""
    edited = ", edited by a person" if call.edited else ""
    if result is not None and result.is_error:
        outcome, status = "failed", result.error_class or "failed"
    else:
        outcome, status = "ok", "done" if result else missing
    status += ", edited" if call.edited else ""
    arguments = json.dumps(dict(call.arguments), indent=2, ensure_ascii=False, default=str)
    parts = [
        '<details class="call"><summary>',
        f'<span class="status {outcome}">{text_html(status)}</span>',
        f'<span class="name">{text_html(call.name)}</span> ',
        f'<span class="brief">{text_html(one_line(brief(call.arguments), BRIEF_COLUMNS))}</span>',
        f'</summary><div class="inside"><p class="label">arguments{edited}</p>',
        block_html(arguments),
    ]
    if result is not None:
        parts += _result(result)
    return "".join([*parts, "</div></details>"])


def _result(result: ToolResult) -> Iterator[str]:
    diff, output = result.metadata.get("diff"), result.output
    if isinstance(diff, str) and diff.strip():
        yield f'<p class="label">change</p>{diff_html(diff)}'
        output = output.replace(diff, "").strip()
    if output:
        block = diff_html(output) if is_diff(output) else block_html(output)
        yield f'<p class="label">result</p>{block}'
    yield from map(attachment_html, result.attachments)


def attachment_html(attachment: Attachment) -> str:
    """Return a picture, or the name of another attachment."""
    name = text_html(attachment.name or attachment.media_type)
    if attachment.media_type not in PICTURES:
        return f'<p class="note">attached: {name}</p>'
    data = b64encode(attachment.data).decode()
    return f'<img alt="{name}" src="data:{attachment.media_type};base64,{data}">'
