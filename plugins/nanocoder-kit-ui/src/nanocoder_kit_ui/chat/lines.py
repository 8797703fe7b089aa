"""Lines of a conversation: each is a command, a shell command or a prompt."""

from typing import Final

from nanocoder import Host, Session
from nanocoder_kit_sessions import RecordJournal

from nanocoder_kit_ui.chat.conversation import Conversation
from nanocoder_kit_ui.chat.display import Display
from nanocoder_kit_ui.chat.mentioned_files import Typed
from nanocoder_kit_ui.chat.own_command import SIGN, is_own_command, run_own_command
from nanocoder_kit_ui.chat.slash_commands import ALIASES, COMMANDS, Next, act

LEAVING: Final = ("exit", "quit")
"""These words leave without a slash, too: no model can do anything with them."""


def converse(host: Host, session: Session, display: Display) -> Conversation:
    """Return the conversation in *session*, which *display* shows.

    A last prompt whose run was killed before an answer is where the next one is typed.
    """
    if session.messages and session.messages[-1].role == "user":
        _begin_unanswered(session, display)
    return Conversation(host, session, display, (*COMMANDS, *ALIASES))


def _begin_unanswered(session: Session, display: Display) -> None:
    from nanocoder_kit_sessions.prompts import take_unanswered  # after the first picture

    journal = session.journal
    if isinstance(journal, RecordJournal) and (text := take_unanswered(journal)):
        session.reread()
        display.begin(text)


def respond(conversation: Conversation, typed: Typed) -> Next | None:
    """Do what *typed* asks for; return how to go on if not with the same session."""
    if typed.text in LEAVING or is_command(typed.text):
        return act(conversation, f"/{typed.text.removeprefix('/')}")
    if is_own_command(typed):
        run_own_command(conversation, typed)
    else:
        conversation.work(typed)
    return None


def is_command(text: str) -> bool:
    """Return True if a line is a command, not a prompt that begins with a path."""
    word = text.split(maxsplit=1)[0]
    return word.startswith("/") and "/" not in word[1:]


def waits(text: str) -> bool:
    """Return True if a line that is typed during a run has to wait for its end.

    Such a line asks the program for something, so it must not reach the model.
    """
    return text.startswith(("/", SIGN)) or text in LEAVING
