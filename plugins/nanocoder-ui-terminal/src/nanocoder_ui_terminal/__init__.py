"""The terminal: conversations, streamed answers, and questions to the person there.

Nothing here imports rich or prompt_toolkit before something is drawn or typed.
"""

from argparse import Namespace
from typing import Any

from attrs import field, frozen
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Cancel,
    Command,
    Host,
    Question,
    Screen,
    SessionInfo,
    hookimpl,
)


@frozen
class Settings:
    """Settings in `[plugins.ui-terminal]`.

    *diff_lines* of a change, or of what a result has for a person, and *output_lines* of a command
    are shown beneath a call;
    *preview_lines* of what is to be approved (0: as many as fit). *live_lines* of what a command
    prints are shown while it runs (0: none). *history* keeps what was typed.
    """

    diff_lines: int = 12
    output_lines: int = 6
    preview_lines: int = 0
    live_lines: int = 5
    history: bool = field(default=True, metadata={"user_only": True})


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.ui-terminal]`."""
    return Settings


@hookimpl
def nanocoder_screens() -> list[Screen]:
    """Offer the form "text" of a terminal."""
    return [Screen("text", _open_screen, "Streamed answers and calls, drawn on a terminal.")]


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the conversation that `nanocoder` alone starts."""
    return [Command("chat", "talk in the terminal", _run_chat)]


@hookimpl
def nanocoder_approve(
    request: ApprovalRequest, session: SessionInfo, settings: Any, cancelled: Cancel
) -> ApprovalAnswer | None:
    """Ask the person at the terminal; return None if no person is there."""
    if not session.interactive:
        return None
    from nanocoder_ui_terminal.approval import ask  # most calls need no approval

    return ask(request, settings or Settings(), cancelled, session.sandbox)


@hookimpl
def nanocoder_ask(question: Question, session: SessionInfo, cancelled: Cancel) -> str | None:
    """Ask the person a tool's question; return None if no person is there."""
    if not session.interactive:
        return None
    from nanocoder_ui_terminal.question import ask_question  # few tools ask

    return ask_question(question, cancelled)


def _open_screen(info: SessionInfo, settings: Any) -> Any:
    from nanocoder_ui_terminal.opening import open_screen  # json runs draw nothing

    return open_screen(info, settings or Settings())


def _run_chat(arguments: Namespace, host: Host) -> int:
    from nanocoder_ui_terminal.first_keys import keep_first_keys  # a chat alone needs it

    with host.signals, keep_first_keys() as typed:
        from nanocoder_ui_terminal.chat import run  # slow, so the keyboard comes first

        return run(arguments, host, typed)
