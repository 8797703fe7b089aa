"""`/reload`: the configuration as it is now, and what that changes."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from nanocoder import NanocoderError, PersonError, Session

from nanocoder_ui_terminal.lines import in_conversation, one_line

if TYPE_CHECKING:
    from nanocoder_ui_terminal.chat import Conversation

VALUE_COLUMNS: Final = 100
OWN: Final = {"mode": "/mode", "model": "/model"}
"""What a conversation has chosen for itself, and the command that changes it."""


def reload(conversation: "Conversation") -> None:
    """Read the configuration again and say what is different, or why nothing is."""
    session = conversation.session
    before, noticed = _values(session), set(session.config.notices)
    try:
        session.reload()
    except PersonError as error:
        said = in_conversation(str(error))
        conversation.say(f"Not reloaded, the old configuration stays in force: {said}", "yellow")
        return
    after = _values(session)
    conversation.find_model()
    for notice in session.config.notices:
        if notice not in noticed:
            conversation.say(notice, "yellow")
    conversation.tell_notices()
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if not changed:
        conversation.say("Configuration reloaded: no changes")
        return
    lines = [_told(key, after) for key in changed]
    conversation.say("\n".join([*lines, "These values apply from the next call on."]))


def _told(key: str, values: Mapping[str, tuple[Any, str]]) -> str:
    value, origin = values.get(key, (None, ""))
    written = one_line(json.dumps(value, ensure_ascii=False, default=str), VALUE_COLUMNS)
    own = f"; this conversation keeps its own: {OWN[key]} changes it" if key in OWN else ""
    return f"{key} = {written}  ({origin}{own})"


def _values(session: Session) -> dict[str, tuple[Any, str]]:
    """Return each value and where it comes from, but of plugins that cannot be read."""
    classes = {}
    for name in list(session.plugins.entries):
        try:
            found = session.plugins.settings_class(name)
        except NanocoderError:
            continue
        if found is not None:
            classes[name] = found
    rows = session.config.items(classes)
    return {key: (value, str(origin)) for key, value, origin in rows}
