"""`/undo` and `/redo`: ask the person first, and show the outcome."""

from typing import TYPE_CHECKING, Final

from nanocoder import NanocoderError, counted, for_terminal

from nanocoder_ui_terminal.line_input import StoppedError, line_mode, read_line
from nanocoder_ui_terminal.text_lines import use_chat_commands

if TYPE_CHECKING:
    from nanocoder_ui_terminal.conversation import Conversation

QUESTION: Final = "Restore these files?"
MAX_ASKED: Final = 100
YES: Final = ("y", "yes")
NO: Final = ("", "n", "no", "q", "quit", "exit")
UNCLEAR: Final = "{!r} is neither yes nor no: type y to restore the files, n to leave them"


def restore_files(conversation: "Conversation", *, redo: bool, force: bool = False) -> None:
    """Undo the last run of the session, or redo what was undone, if the person agrees."""
    from nanocoder_kit_sessions.undo import UndoRequest, undo  # few conversations undo anything

    def agree() -> bool:
        return agrees_to_restore(conversation)

    try:
        request = UndoRequest(redo=redo, force=force)
        undone = undo(
            conversation.host, conversation.session, request, conversation.show_change, agree
        )
    except NanocoderError as error:
        conversation.say(use_chat_commands(str(error)), "yellow")
        return
    if not undone.files:
        conversation.say("Nothing was changed.")
        return
    number, others = counted(len(undone.files), "file"), counted(len(undone.skipped), "file")
    outcome = f"Restored {number}, left {others} as above." if undone.skipped else "Done."
    conversation.say(f"{outcome} /{'undo' if redo else 'redo'} reverts this.")


def agrees_to_restore(conversation: "Conversation") -> bool:
    """Ask whether the files that were shown may be restored; an unclear answer asks again."""
    terminal, is_agreed = conversation.terminal, False
    try:
        with line_mode():
            for _ in range(MAX_ASKED):
                typed = read_line(terminal, QUESTION, "[y/n]", conversation.leaving).strip()
                is_agreed = typed.casefold() in YES
                if is_agreed or typed.casefold() in NO:
                    break
                note = UNCLEAR.format(for_terminal(typed))
                terminal.write(f"{terminal.paint(note, 'yellow')}\n")
    except (StoppedError, EOFError):
        is_agreed = False
    terminal.write("\n")
    return is_agreed
