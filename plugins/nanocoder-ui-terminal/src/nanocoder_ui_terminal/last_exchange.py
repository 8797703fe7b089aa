"""The end of a resumed session: the last prompt and its answer."""

from collections.abc import Sequence

from nanocoder import Message

from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import clean, prompt_lines


def last_exchange(messages: Sequence[Message], terminal: Terminal) -> list[str]:
    """Return the last prompt and its answer as lines, and how many prompts came before."""
    prompts = [typed for message in messages if (typed := _typed_text(message))]
    answer = ""
    for message in messages:
        if message.role == "assistant" and message.text:
            answer = message.text
        elif _typed_text(message):
            answer = ""
    lines = []
    if len(prompts) > 1:
        more = "1 earlier prompt" if len(prompts) == 2 else f"{len(prompts) - 1} earlier prompts"  # noqa: PLR2004
        lines += [terminal.paint(more, "dim"), ""]
    if prompts:
        lines += prompt_lines(prompts[-1], terminal)
    if answer:
        # rich takes a tenth of a second, and a new session has no answer yet.
        from nanocoder_ui_terminal.markdown_lines import MarkdownRenderer

        renderer = MarkdownRenderer(colour=terminal.colour)
        lines += ["", *renderer.lines(clean(answer), terminal.width)]
    elif prompts:
        lines += ["", terminal.paint("it was not answered", "dim")]
    return lines


def _typed_text(message: Message) -> str:
    """Return the text that the user typed; the program also writes messages as the user."""
    if message.role != "user":
        return ""
    return message.text if message.typed is None else message.typed
