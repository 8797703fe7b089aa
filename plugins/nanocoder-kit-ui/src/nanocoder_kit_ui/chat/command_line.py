"""Commands of the command line, run within a conversation: its screen shows and asks."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanocoder import Host

from nanocoder_kit_ui.chat.reload import reload_configuration
from nanocoder_kit_ui.chat.wording import use_chat_commands
from nanocoder_kit_ui.commands import CommandLine

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation


class ConversationHost(Host):
    """A host that reads everything anew, and whose person is at the screen of a conversation.

    Lines are shown together, all of them above the question that they belong to.
    """

    def __init__(self, conversation: "Conversation") -> None:
        super().__init__(str(conversation.host.cwd), **conversation.host.flags)
        self._conversation = conversation
        self._lines: list[str] = []

    @property
    def is_interactive(self) -> bool:
        """A person is there."""
        return True

    def print_line(self, text: str = "") -> None:
        """Show a line with those that come with it."""
        self._lines.append(text)

    def say(self, message: str) -> None:
        """Show a message that a person should not miss."""
        self.show_lines()
        self._conversation.display.warn(use_chat_commands(message))

    def agrees(self, question: str) -> bool:
        """Show the lines, and ask for a yes."""
        self.show_lines()
        return self._conversation.display.is_agreed(question, self._conversation.leaving)

    def show_lines(self) -> None:
        """Show the lines that were printed since the last time."""
        if self._lines:
            self._conversation.display.say(use_chat_commands("\n".join(self._lines)))
            self._lines.clear()


def run_command_lines(conversation: "Conversation", commands: Sequence[CommandLine]) -> None:
    """Run *commands* of plugins, and apply what they changed; raises PersonError."""
    host = ConversationHost(conversation)
    try:
        for name, arguments in commands:
            host.hand_over(name, Namespace(yes=False, **arguments))
    finally:
        host.show_lines()
    reload_configuration(conversation, says_none=False)
