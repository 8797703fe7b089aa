"""What plugins add to a conversation: commands, and names behind an @.

A plugin adds a part by offering a resource named "chat". The part says what there is and which call
of a tool that makes; the call takes the path of all calls.
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
    """What one plugin adds; its methods start nothing and may raise UsageError."""

    @property
    def commands(self) -> Mapping[str, tuple[str, str]]:
        """What each command takes and means, by its name without the slash."""

    @property
    def mentions(self) -> Mapping[str, str]:
        """What each name means that may stand behind an @; it has a colon."""

    @property
    def notices(self) -> Sequence[str]:
        """What a person should know before their first prompt."""

    def rows(self, name: str) -> Sequence[Sequence[str]] | None:
        """Return the table that the command *name* shows, None for one that makes a call.

        A row of one cell is a message below the table.
        """

    def command_lines(self, name: str, argument: str) -> Sequence[CommandLine]:
        """Return the commands of the command line that *argument* of *name* runs here, if any."""

    def call(self, name: str, argument: str) -> Call:
        """Return the call whose output the command *name* sends to the model."""

    def mention(self, name: str) -> Call | None:
        """Return the call that reads *name*, None for one of somebody else."""


def plugin_parts(session: Session) -> Iterator[Part]:
    """Yield the part of each plugin that has one; one that does not open has none."""
    for entry, offer in session.plugins.offers("resources"):
        if offer["name"] == RESOURCE:
            try:
                yield session.resource(entry.name, RESOURCE)
            except NanocoderError:
                continue
