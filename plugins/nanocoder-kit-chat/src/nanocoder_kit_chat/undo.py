"""`/undo` and `/redo`: ask the person first, and show the outcome."""

from typing import TYPE_CHECKING, Final

from nanocoder import NanocoderError, counted

from nanocoder_kit_chat.wording import use_chat_commands

if TYPE_CHECKING:
    from nanocoder_kit_chat.conversation import Conversation

QUESTION: Final = "Restore these files?"


def restore_files(conversation: "Conversation", *, redo: bool, force: bool = False) -> None:
    """Undo the last run of the session, or redo what was undone, if the person agrees."""
    from nanocoder_kit_sessions.undo import UndoRequest, undo  # few conversations undo anything

    display = conversation.display
    try:
        request = UndoRequest(redo=redo, force=force)
        undone = undo(
            conversation.host,
            conversation.session,
            request,
            display.show_change,
            lambda: display.is_agreed(QUESTION, conversation.leaving),
        )
    except NanocoderError as error:
        display.warn(use_chat_commands(str(error)))
        return
    if not undone.files:
        display.say("Nothing was changed.")
        return
    number, others = counted(len(undone.files), "file"), counted(len(undone.skipped), "file")
    outcome = f"Restored {number}, left {others} as above." if undone.skipped else "Done."
    display.say(f"{outcome} /{'undo' if redo else 'redo'} reverts this.")
