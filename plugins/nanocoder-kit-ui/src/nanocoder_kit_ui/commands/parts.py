"""Parts of a conversation from plugins: commands, and names after an @.

A plugin adds a part by offering a resource named "chat". The part lists its commands and names and
returns the tool call for each; the call is judged like every other.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from nanocoder import NanocoderError, Session

RESOURCE: Final = "chat"
Call = tuple[str, Mapping[str, Any]]
"""The name of a tool of the session, and its arguments."""

CommandLine = tuple[str, Mapping[str, Any]]
"""A command as it is named there, and its arguments."""


class Part(Protocol):
    """The part of one plugin; its methods start nothing and may raise UsageError."""

    @property
    def commands(self) -> Mapping[str, tuple[str, str]]:
        """Arguments and meaning of each command, by its name without the slash."""

    @property
    def mentions(self) -> Mapping[str, str]:
        """Meaning of each name that may follow an @; the name has a colon."""

    @property
    def notices(self) -> Sequence[str]:
        """Notices for the user before the first prompt."""

    def rows(self, name: str) -> Sequence[Sequence[str]] | None:
        """Return the table that the command *name* shows, or None if it makes a call.

        A row of one cell is a message below the table.
        """

    def command_lines(self, name: str, argument: str) -> Sequence[CommandLine]:
        """Return the commands of the command line that *argument* of *name* runs here, if any."""

    def call(self, name: str, argument: str) -> Call:
        """Return the call whose output the command *name* sends to the model."""

    def mention(self, name: str) -> Call | None:
        """Return the call that reads *name*, or None for a name of another part."""


def plugin_parts(session: Session) -> Iterator[Part]:
    """Yield the part of each plugin that has one and opens without an error."""
    for entry, offer in session.plugins.offers("resources"):
        if offer["name"] == RESOURCE:
            try:
                yield session.resource(entry.name, RESOURCE)
            except NanocoderError:
                continue
