"""Commands, and names behind an @, that plugins add to a conversation.

What a person typed makes a call of a tool, which takes the path of all calls.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from attrs import evolve, field, frozen
from nanocoder import Attachment, Event, Session, one_line

from nanocoder_kit_ui.chat.mentioned_files import MAX_MENTIONS, PUNCTUATION, Typed, without_pastes
from nanocoder_kit_ui.commands import plugin_parts

NAMED: Final = re.compile(r"(?<![\w@/])@([A-Za-z0-9][\w.-]*:[^\s\"@]+)")
LABEL_CHARS: Final = 60


@frozen
class Mentioned:
    """Additions to a prompt besides its files: texts below it, and pictures.

    *typed* is the prompt with the names taken for pasted text, in which no file is looked for.
    """

    typed: Typed
    text: str = ""
    attachments: tuple[Attachment, ...] = field(default=())


def plugin_commands(session: Session) -> dict[str, tuple[str, str]]:
    """Return the arguments and the meaning of each plugin's command."""
    commands: dict[str, tuple[str, str]] = {}
    for part in plugin_parts(session):
        commands = {**part.commands, **commands}
    return commands


def plugin_mentions(session: Session) -> dict[str, str]:
    """Return the meaning of each plugin's name that may follow an @."""
    return {name: text for part in plugin_parts(session) for name, text in part.mentions.items()}


def plugin_notices(session: Session) -> list[str]:
    """Return the notices of plugins before the first prompt."""
    return [text for part in plugin_parts(session) for text in part.notices]


def attach_named(session: Session, typed: Typed, show: Callable[[Event], Any]) -> Mentioned:
    """Read what *typed* names of plugins; *show* gets the events of the calls."""
    names = [match.rstrip(PUNCTUATION) for match in NAMED.findall(without_pastes(typed))]
    if not names or typed.command:
        return Mentioned(typed)
    parts = [*plugin_parts(session)]
    mentioned = Mentioned(typed)
    for name in list(dict.fromkeys(names))[:MAX_MENTIONS]:
        call = next(filter(None, (part.mention(name) for part in parts)), None)
        if call is None:
            continue
        for event in session.call(*call, typed=True):
            show(event)
        result = session.result
        before = mentioned.typed
        mentioned = evolve(mentioned, typed=evolve(before, pasted=(*before.pasted, f"@{name}")))
        if result is not None and not result.is_error:
            mentioned = evolve(
                mentioned,
                text=f"{mentioned.text}\n\n{one_line(name, LABEL_CHARS)}:\n{result.output}",
                attachments=(*mentioned.attachments, *result.attachments),
            )
    return mentioned
