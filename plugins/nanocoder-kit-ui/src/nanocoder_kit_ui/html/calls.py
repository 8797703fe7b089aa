"""The calls of a turn, each as an element that opens."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Final

from nanocoder import Attachment, ToolCall, ToolResult, brief, one_line
from nanocoder_kit_files.diff import patched_files

from nanocoder_kit_ui.html.code import diff_html, is_diff, preview_html
from nanocoder_kit_ui.html.text import block_html, text_html

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
    """Return a call with its arguments and its result, or *missing* instead of a result."""
    edited = ", edited by a person" if call.edited else ""
    if result is not None and result.is_error:
        outcome, status = "failed", result.error_class or "failed"
    else:
        outcome, status = "ok", "done" if result else missing
    status += ", edited" if call.edited else ""
    change = _change(call, result)
    parts = [
        '<details class="call"><summary>',
        f'<span class="status {outcome}">{text_html(status)}</span>',
        f'<span class="name">{text_html(call.name)}</span> ',
        f'<span class="brief">{text_html(_brief(call, result if change else None))}</span>',
        '</summary><div class="inside">',
    ]
    arguments = _arguments(call, edited, is_folded=bool(change))
    parts.append(change or arguments)
    if result is not None:
        parts += _output(result)
    if change:
        parts.append(arguments)
    return "".join([*parts, "</div></details>"])


def _brief(call: ToolCall, changed: ToolResult | None) -> str:
    """Return the arguments on one line; of a call that has *changed* files which, and how much."""
    first = next(iter(call.arguments.values()), "")
    files = patched_files(first) if isinstance(first, str) else []
    if not (files or changed):
        return one_line(brief(call.arguments), BRIEF_COLUMNS)
    counts = changed.metadata if changed else {}
    tail = f"  +{counts['added']} -{counts.get('removed', 0)}" if "added" in counts else ""
    return one_line(", ".join(files) or str(first), BRIEF_COLUMNS) + tail


def _arguments(call: ToolCall, edited: str, *, is_folded: bool) -> str:
    """Return the arguments as JSON; *is_folded* if their change is shown."""
    text = json.dumps(dict(call.arguments), indent=2, ensure_ascii=False, default=str)
    if is_folded:
        summary = f"<summary>arguments{edited}</summary>"
        return f'<details class="arguments">{summary}{block_html(text)}</details>'
    return f'<p class="label">arguments{edited}</p>{block_html(text)}'


def _change(call: ToolCall, result: ToolResult | None) -> str:
    """Return the diff of a call's change, or the file that it created, or ""."""
    if result is None or result.is_error:
        return ""
    diff, content = result.metadata.get("diff"), call.arguments.get("content")
    if isinstance(diff, str) and diff.strip():
        return f'<p class="label">change</p>{diff_html(diff)}'
    if result.metadata.get("created") and isinstance(content, str) and content:
        path = str(call.arguments.get("path", ""))
        return f'<p class="label">new file</p>{preview_html(content, path)}'
    return ""


def _output(result: ToolResult) -> Iterator[str]:
    diff, output = result.metadata.get("diff"), result.output
    if isinstance(diff, str) and diff.strip():
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
