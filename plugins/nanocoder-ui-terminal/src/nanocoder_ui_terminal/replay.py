"""The end of a session that is gone on with: what was asked last and what was answered."""

from collections.abc import Sequence

from nanocoder import Message

from nanocoder_ui_terminal.lines import drawable, plain_lines
from nanocoder_ui_terminal.page import Pages
from nanocoder_ui_terminal.terminal import Terminal

MAX_PROMPT_LINES = 6


def last_exchange(messages: Sequence[Message], terminal: Terminal) -> list[str]:
    """Return the last prompt and what was answered to it as lines, and how many came before."""
    asked = [typed for message in messages if (typed := _typed(message))]
    answer = ""
    for message in messages:
        if message.role == "assistant" and message.text:
            answer = message.text
        elif _typed(message):
            answer = ""
    lines = []
    if len(asked) > 1:
        more = "1 earlier prompt" if len(asked) == 2 else f"{len(asked) - 1} earlier prompts"  # noqa: PLR2004
        lines += [terminal.paint(more, "dim"), ""]
    if asked:
        lines += prompt_lines(asked[-1], terminal)
    if answer:
        pages = Pages(colour=terminal.colour)
        lines += ["", *pages.lines(drawable(answer), terminal.width)]
    elif asked:
        lines += ["", terminal.paint("it was not answered", "dim")]
    return lines


def prompt_lines(text: str, terminal: Terminal) -> list[str]:
    """Return the beginning of a prompt as it stands on the screen."""
    lines = list(plain_lines(text, terminal.width - 2))[:MAX_PROMPT_LINES]
    sign = terminal.paint(terminal.sign("prompt"), "cyan", "bold")
    return [f"{sign if place == 0 else ' '} {line}" for place, line in enumerate(lines)]


def _typed(message: Message) -> str:
    """Return what the person typed; the program itself speaks as the user, too."""
    if message.role != "user":
        return ""
    return message.text if message.typed is None else message.typed
