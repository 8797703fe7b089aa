"""A session as one page of HTML, for people who read it in a browser.

Everything in a session is untrusted: it is escaped, invisible characters are shown, and the page's
content security policy blocks scripts and loads.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from nanocoder import Message, __version__, counted, one_line, spoken
from nanocoder_kit_sessions import Record, Transcript
from nanocoder_kit_sessions.prompts import Prompt, prompt_numbers, prompts_of
from nanocoder_kit_ui.html import (
    STYLES,
    attachment_html,
    block_html,
    calls_html,
    markdown_html,
    page_html,
    text_html,
)

from nanocoder_command_sessions.listing import local_time

TITLE_COLUMNS: Final = 120
BRIEF_COLUMNS: Final = 90
FEW_PROMPTS: Final = 3
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
FOOTER: Final = "Exported by nanocoder {}. Review it before sharing: it has what the model read."
STYLE_FILES: Final = (STYLES, Path(__file__).with_name("page.css"))


def as_page(session_id: str, records: Sequence[Record], transcript: Transcript) -> str:
    """Return the session as one file of HTML that loads nothing."""
    title = one_line(transcript.title, TITLE_COLUMNS) or "Session without a prompt"
    prompts = prompts_of(records)
    parts = [
        '<header><p class="brand">nanocoder session</p>',
        f"<h1>{text_html(title)}</h1>",
        _facts(session_id, records, transcript, prompts),
        *_contents(prompts),
        "</header>",
        *_messages(transcript, prompts),
        f"<footer>{FOOTER.format(__version__)}</footer>",
    ]
    return page_html(title, STYLE_FILES, parts)


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
        "cost": _price(cost, tokens),
        "tokens read": f"{tokens['input_tokens']:,}",
        "from the cache": f"{tokens['cache_read_tokens']:,}",
        "tokens written": f"{tokens['output_tokens']:,}",
        "model": transcript.model or "none",
    }
    wide = {"directory": transcript.cwd, "used": lasted, "session": session_id}
    rows = [
        f"<div><dt>{name}</dt><dd>{text_html(value)}</dd></div>" for name, value in facts.items()
    ]
    rows += [
        f'<div class="wide"><dt>{name}</dt><dd>{text_html(value)}</dd></div>'
        for name, value in wide.items()
        if value
    ]
    return f"<dl>{''.join(rows)}</dl>"


def _usage(records: Sequence[Record]) -> tuple[Mapping[str, int], float | None]:
    """Return the tokens and the cost of all requests, rewound ones included."""
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


def _price(cost: float | None, tokens: Mapping[str, int]) -> str:
    if cost == 0 and tokens["output_tokens"]:
        return "free"
    return "unknown" if cost is None else f"${cost:.4f}"


def _contents(prompts: Sequence[Prompt]) -> Iterator[str]:
    if len(prompts) <= FEW_PROMPTS:
        return
    yield f"<nav><details><summary>{counted(len(prompts), 'prompt')}</summary>"
    yield '<div class="inside"><ol>'
    for prompt in prompts:
        text = text_html(one_line(prompt.text, BRIEF_COLUMNS))
        yield f'<li value="{prompt.number}"><a href="#p{prompt.number}">{text}</a></li>'
    yield "</ol></div></details></nav>"


def _compactions(transcript: Transcript, index: int) -> Iterator[str]:
    for before, text in transcript.compactions:
        if before == index:
            yield f'<p class="note">Compacted: {text_html(text)}</p>'


def _messages(transcript: Transcript, prompts: Sequence[Prompt]) -> Iterator[str]:
    messages = transcript.messages
    numbers = prompt_numbers(messages, prompts)
    for index, message in enumerate(messages):
        yield from _compactions(transcript, index)
        typed, added = spoken(message)
        if message.role == "user":
            yield from _prompt(message, typed, added, numbers.get(index, 0))
        elif message.role == "assistant":
            if message.text.strip():
                yield f'<div class="answer">{markdown_html(message.text)}</div>'
            following = messages[index + 1] if index + 1 < len(messages) else None
            results = following.results if following is not None else ()
            yield from calls_html(message.calls, results)
    yield from _compactions(transcript, len(messages))


def _prompt(message: Message, typed: str, added: str, number: int) -> Iterator[str]:
    if typed:
        anchor = f' id="p{number}"' if number else ""
        link = f'<a class="number" href="#p{number}">{number}</a>' if number else ""
        yield f'<section class="prompt"{anchor}>{link}<p>{text_html(typed.strip())}</p></section>'
    if added:
        yield '<details class="note"><summary>Added for the model</summary>'
        yield f'<div class="inside">{block_html(added)}</div></details>'
    yield from map(attachment_html, message.attachments)
