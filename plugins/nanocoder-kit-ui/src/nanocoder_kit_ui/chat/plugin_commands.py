"""Running the commands that plugins add to a conversation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanocoder_kit_ui.chat.command_line import run_command_lines
from nanocoder_kit_ui.chat.mentioned_files import Typed
from nanocoder_kit_ui.chat.wording import use_chat_commands
from nanocoder_kit_ui.commands import Call, plugin_parts

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation


def run_plugin_command(conversation: "Conversation", line: str) -> bool:
    """Run the command in *line* if it is one of a plugin; raises UsageError."""
    word, _, argument = line[1:].partition(" ")
    for part in plugin_parts(conversation.session):
        name = next((each for each in part.commands if each.casefold() == word.casefold()), "")
        if not name:
            continue
        if commands := part.command_lines(name, argument.strip()):
            run_command_lines(conversation, commands)
            return True
        rows = part.rows(name)
        if rows is None:
            _send(conversation, line, part.call(name, argument.strip()))
        else:
            _show(conversation, rows)
        return True
    return False


def _show(conversation: "Conversation", rows: Sequence[Sequence[str]]) -> None:
    """Show a table, and below it a message for each row that has one cell."""
    if table := [row for row in rows if len(row) > 1]:
        conversation.display.show_table(table)
    for row in rows:
        if len(row) == 1:
            conversation.display.say(use_chat_commands(row[0]))


def _send(conversation: "Conversation", line: str, call: Call) -> None:
    """Make *call* and let the model read its output with what the person typed."""
    session = conversation.session
    with conversation.running() as view:
        for event in conversation.events(session.call(*call, typed=True)):
            view.show(event)
    result = session.result
    if result is not None and not result.is_error:
        conversation.tell_model(result.output)
        # As pasted text: the author of the prompt is a stranger, so it names no file of ours.
        conversation.work(Typed(line, pasted=(line,)))
