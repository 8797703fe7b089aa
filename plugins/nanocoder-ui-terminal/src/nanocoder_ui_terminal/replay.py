"""The end of a session that is gone on with: what was asked last and what was answered."""

from collections.abc import Sequence

from nanocoder import Message

from nanocoder_ui_terminal.lines import drawable, plain_lines
from nanocoder_ui_terminal.page import Pages
from nanocoder_ui_terminal.terminal import Terminal

MAX_PROMPT_LINES = 6


def last_exchange(messages: Sequence[Message], terminal: Terminal) -> list[str]:
    """Return the last prompt and the last answer as lines, and how many came before."""
    asked = [message for message in messages if message.role == "user" and message.text]
    answered = [message for message in messages if message.role == "assistant" and message.text]
    lines = []
    if len(asked) > 1:
        more = "1 earlier prompt" if len(asked) == 2 else f"{len(asked) - 1} earlier prompts"  # noqa: PLR2004
        lines += [terminal.paint(more, "dim"), ""]
    if asked:
        prompt = list(plain_lines(asked[-1].text, terminal.width - 2))[:MAX_PROMPT_LINES]
        sign = terminal.paint(terminal.sign("prompt"), "cyan", "bold")
        lines += [f"{sign if place == 0 else ' '} {line}" for place, line in enumerate(prompt)]
    if answered:
        pages = Pages(colour=terminal.colour)
        lines += ["", *pages.lines(drawable(answered[-1].text), terminal.width)]
    return lines
