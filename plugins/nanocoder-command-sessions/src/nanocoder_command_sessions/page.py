"""A session as one page of HTML, for people who read it in a browser.

Everything in a session may come from strangers: it is escaped, what a browser could hide is made
visible, and the policy of the page lets nothing run or load.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Final

from nanocoder import (
    Attachment,
    Message,
    ToolCall,
    ToolResult,
    __version__,
    brief,
    counted,
    for_terminal,
    one_line,
    spoken,
)
from nanocoder_kit_sessions import Record, Transcript
from nanocoder_kit_sessions.prompts import Prompt, prompt_numbers, prompts_of

from nanocoder_command_sessions.listing import local_time

LINKS: Final = ("http://", "https://", "mailto:")
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
TITLE_COLUMNS: Final = 120
BRIEF_COLUMNS: Final = 90
FEW_PROMPTS: Final = 3
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
POLICY: Final = (
    "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'"
)
FOOTER: Final = "Exported by nanocoder {}. It contains everything the model read, possibly secrets."
DIFF_LINES: Final = {"+++": "file", "---": "file", "@@": "hunk", "+": "add", "-": "del"}


def as_page(session_id: str, records: Sequence[Record], transcript: Transcript) -> str:
    """Return the session as one file of HTML that loads nothing."""
    title = one_line(transcript.title, TITLE_COLUMNS) or "Session without a prompt"
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    prompts = prompts_of(records)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(digest)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{_text(title)}</title>",
            f"<style>{style}</style></head><body><main>",
            '<header><p class="brand">nanocoder session</p>',
            f"<h1>{_text(title)}</h1>",
            _facts(session_id, records, transcript, prompts),
            *_contents(prompts),
            "</header>",
            *_messages(transcript.messages, prompts),
            f"<footer>{FOOTER.format(__version__)}</footer>",
            "</main></body></html>",
        ]
    )


def _facts(
    session_id: str,
    records: Sequence[Record],
    transcript: Transcript,
    prompts: Sequence[Prompt],
) -> str:
    tokens, cost = _usage(records)
    calls = sum(len(message.calls) for message in transcript.messages)
    lasted = f"{local_time(records[0].at)} to {local_time(records[-1].at)}" if records else ""
    facts = {
        "prompts": f"{len(prompts):,}",
        "turns": f"{transcript.turns:,}",
        "calls": f"{calls:,}",
        "cost": "unknown" if cost is None else f"${cost:.4f}",
        "tokens read": f"{tokens['input_tokens']:,}",
        "from the cache": f"{tokens['cache_read_tokens']:,}",
        "tokens written": f"{tokens['output_tokens']:,}",
        "model": transcript.model or "none",
    }
    wide = {"directory": transcript.cwd, "used": lasted, "session": session_id}
    rows = [f"<div><dt>{name}</dt><dd>{_text(value)}</dd></div>" for name, value in facts.items()]
    rows += [
        f'<div class="wide"><dt>{name}</dt><dd>{_text(value)}</dd></div>'
        for name, value in wide.items()
        if value
    ]
    return f"<dl>{''.join(rows)}</dl>"


def _usage(records: Sequence[Record]) -> tuple[Mapping[str, int], float | None]:
    """Return the tokens of all requests, of those that were rewound, too, and what they cost."""
    tokens, cost = dict.fromkeys(TOKENS, 0), None
    for record in records:
        usage = record.data.get("usage") if record.kind == "message" else None
        if not isinstance(usage, dict):
            continue
        for name in TOKENS:
            count = usage.get(name)
            tokens[name] += count if isinstance(count, int) else 0
        if isinstance(usage.get("cost"), (int, float)):
            cost = (cost or 0.0) + usage["cost"]
    return tokens, cost


def _contents(prompts: Sequence[Prompt]) -> Iterator[str]:
    if len(prompts) <= FEW_PROMPTS:
        return
    yield f"<nav><details><summary>{counted(len(prompts), 'prompt')}</summary>"
    yield '<div class="inside"><ol>'
    for prompt in prompts:
        text = _text(one_line(prompt.text, BRIEF_COLUMNS))
        yield f'<li value="{prompt.number}"><a href="#p{prompt.number}">{text}</a></li>'
    yield "</ol></div></details></nav>"


def _messages(messages: Sequence[Message], prompts: Sequence[Prompt]) -> Iterator[str]:
    numbers = prompt_numbers(messages, prompts)
    for place, message in enumerate(messages):
        typed, added = spoken(message)
        if message.role == "user":
            yield from _prompt(message, typed, added, numbers.get(place, 0))
        elif message.role == "assistant":
            if message.text.strip():
                yield f'<div class="answer">{_markdown(message.text)}</div>'
            following = messages[place + 1] if place + 1 < len(messages) else None
            results = following.results if following is not None else ()
            yield from _calls(message.calls, results)


def _prompt(message: Message, typed: str, added: str, number: int) -> Iterator[str]:
    if typed:
        anchor = f' id="p{number}"' if number else ""
        link = f'<a class="number" href="#p{number}">{number}</a>' if number else ""
        yield f'<section class="prompt"{anchor}>{link}<p>{_text(typed.strip())}</p></section>'
    if added:
        yield '<details class="note"><summary>Added for the model</summary>'
        yield f'<div class="inside">{_block(added)}</div></details>'
    yield from map(_attachment, message.attachments)


def _calls(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> Iterator[str]:
    # A provider may use an ID twice in one turn.
    waiting = list(results)
    for call in calls:
        result = next((each for each in waiting if each.call_id == call.id), None)
        if result is not None:
            waiting.remove(result)
        yield _call(call, result)


def _call(call: ToolCall, result: ToolResult | None) -> str:
    edited = ", edited by a person" if call.edited else ""
    outcome, status = (
        ("failed", result.error_class or "failed")
        if result and result.is_error
        else (
            "ok",
            "done" if result else "no result",
        )
    )
    arguments = json.dumps(dict(call.arguments), indent=2, ensure_ascii=False, default=str)
    parts = [
        '<details class="call"><summary>',
        f'<span class="status {outcome}">{_text(status)}</span>',
        f'<span class="name">{_text(call.name)}</span> ',
        f'<span class="brief">{_text(one_line(brief(call.arguments), BRIEF_COLUMNS))}</span>',
        f'</summary><div class="inside"><p class="label">arguments{edited}</p>{_block(arguments)}',
    ]
    if result is not None:
        parts += _result(result)
    return "".join([*parts, "</div></details>"])


def _result(result: ToolResult) -> Iterator[str]:
    diff, output = result.metadata.get("diff"), result.output
    if isinstance(diff, str) and diff.strip():
        yield f'<p class="label">change</p>{_diff(diff)}'
        output = output.replace(diff, "").strip()
    if output:
        block = _diff(output) if _is_diff(output) else _block(output)
        yield f'<p class="label">result</p>{block}'
    yield from map(_attachment, result.attachments)


def _attachment(attachment: Attachment) -> str:
    name = _text(attachment.name or attachment.media_type)
    if attachment.media_type not in PICTURES:
        return f'<p class="note">attached: {name}</p>'
    data = b64encode(attachment.data).decode()
    return f'<img alt="{name}" src="data:{attachment.media_type};base64,{data}">'


def _is_diff(text: str) -> bool:
    return "\n@@ " in text and ("\n+++ " in text or text.startswith("+++ "))


def _diff(text: str) -> str:
    lines = []
    for line in text.strip("\n").split("\n"):
        kind = next((name for start, name in DIFF_LINES.items() if line.startswith(start)), "")
        lines.append(f'<span class="{kind}">{_text(line)}</span>' if kind else _plain_line(line))
    return f'<pre class="diff">{"".join(lines)}</pre>'


def _plain_line(line: str) -> str:
    return f"<span>{_text(line)}</span>"


def _block(text: str) -> str:
    return f"<pre>{_text(text.strip(chr(10)))}</pre>"


def _text(text: str) -> str:
    """Return *text* as text of a page, in elements and in attributes."""
    return escape(for_terminal(text))


def _markdown(text: str) -> str:
    # Entities of Markdown can name what was no character of the text.
    return for_terminal(str(_renderer().render(for_terminal(text))))


@cache
def _renderer() -> Any:
    """Return what makes HTML of Markdown: no HTML of its own, no pictures, links of few kinds."""
    from markdown_it import MarkdownIt  # few sessions are exported

    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    renderer.validateLink = lambda url: url.strip().casefold().startswith(LINKS)  # type: ignore[method-assign]
    renderer.add_render_rule("image", _image)
    renderer.add_render_rule("link_open", _link)
    return renderer


def _image(_renderer: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """Return a picture's text: the page loads nothing."""
    token = tokens[place]
    return f"[{escape(token.content or 'picture')}: {escape(str(token.attrs.get('src', '')))}]"


def _link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, place, options, env))
