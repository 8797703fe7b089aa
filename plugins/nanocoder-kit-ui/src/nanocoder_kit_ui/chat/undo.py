"""`/undo` and `/redo`: ask the person first, and show the outcome."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from nanocoder import NanocoderError, counted

from nanocoder_kit_ui.chat.wording import use_chat_commands

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation

ChangedT = TypeVar("ChangedT")
QUESTION: Final = "Make these changes?"


def restore_files(conversation: "Conversation", *, redo: bool, force: bool = False) -> None:
    """Undo the last run of the session, or redo what was undone, if the person agrees."""
    from nanocoder_kit_sessions.undo import UndoRequest, undo  # few conversations undo anything

    undone = if_agreed(conversation, undo, UndoRequest(redo=redo, force=force))
    if undone is None:
        return
    display = conversation.display
    if not undone.files:
        display.say("Nothing was changed.")
        return
    number, others = counted(len(undone.files), "file"), counted(len(undone.skipped), "file")
    outcome = f"Restored {number}, left {others} as above." if undone.skipped else "Done."
    display.say(f"{outcome} /{'undo' if redo else 'redo'} reverts this.")


def if_agreed(
    conversation: "Conversation", change: Callable[..., ChangedT], request: object
) -> ChangedT | None:
    """Apply *change* to the session as *request* says, after asking the user.

    None where it failed: then the person has read why.
    """
    display = conversation.display
    try:
        return change(
            conversation.host,
            conversation.session,
            request,
            display.show_change,
            lambda: display.is_agreed(QUESTION, conversation.leaving),
        )
    except NanocoderError as error:
        display.warn(use_chat_commands(str(error)))
        return None
