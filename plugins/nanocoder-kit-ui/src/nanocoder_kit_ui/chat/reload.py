"""`/reload`: read the configuration again and show what that changes."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from nanocoder import NanocoderError, PersonError, Session, one_line
from nanocoder_discovery import find_plugins, site_paths

from nanocoder_kit_ui.chat.file_plugins import renew_file_plugins
from nanocoder_kit_ui.chat.wording import use_chat_commands

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation

VALUE_COLUMNS: Final = 100
NEXT_START: Final = (
    "new or changed plugins: {}; nanocoder has them from its next start on (/quit, nanocoder -c)"
)
OWN: Final = {"mode": "/mode", "model": "/model"}
"""Values that a conversation sets for itself, each with the command that changes it."""


def reload_configuration(conversation: "Conversation", *, says_none: bool = True) -> None:
    """Read the configuration again and say what is different, or why nothing is.

    Without *says_none* nothing is said where nothing is different, and of plugins that were
    installed meanwhile.
    """
    session = conversation.session
    before, old_notices = _values(session), set(session.config.notices)
    old_tools = set(session.tools)
    renewed = list(renew_file_plugins(session.plugins))
    try:
        session.reload()
    except PersonError as error:
        reason = use_chat_commands(str(error))
        conversation.display.warn(f"Not reloaded, the old configuration stays in force: {reason}")
        return
    after = _values(session)
    conversation.find_model()
    for notice in session.config.notices:
        if notice not in old_notices:
            conversation.display.warn(notice)
    conversation.say_notices()
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    lines = [_describe(key, after) for key in changed]
    # A person may have trusted or reviewed something elsewhere: no value, but it brings tools.
    lines += [*_tool_changes(old_tools, set(session.tools)), *renewed]
    if says_none and (names := _installed_since(session)):
        conversation.display.say(NEXT_START.format(one_line(", ".join(names), VALUE_COLUMNS)))
    if not lines:
        if says_none:
            conversation.display.say("Configuration reloaded: no changes")
        return
    conversation.display.say("\n".join([*lines, "These values apply from the next call on."]))


def _describe(key: str, values: Mapping[str, tuple[Any, str]]) -> str:
    value, origin = values.get(key, (None, ""))
    text = one_line(json.dumps(value, ensure_ascii=False, default=str), VALUE_COLUMNS)
    own = f"; this conversation keeps its own: {OWN[key]} changes it" if key in OWN else ""
    return f"{key} = {text}  ({origin}{own})"


def _tool_changes(before: set[str], after: set[str]) -> Iterator[str]:
    for what, names in (("new", after - before), ("gone", before - after)):
        if names:
            yield one_line(f"tools that are {what}: {', '.join(sorted(names))}", VALUE_COLUMNS)


def _installed_since(session: Session) -> list[str]:
    """Return the plugins that were installed or edited since the session read them."""
    plugins = session.plugins
    entries = {**plugins.entries, **{name: entry for name, (entry, _) in plugins.removed.items()}}
    if not any(entry.site for entry in entries.values()):
        return []  # a program has added its plugins by hand
    return [
        plugin.name
        for plugin in find_plugins(site_paths())
        if plugin.name not in entries or not entries[plugin.name].still_holds(plugin)
    ]


def _values(session: Session) -> dict[str, tuple[Any, str]]:
    """Return each value and its origin; plugins that cannot be read are left out."""
    classes = {}
    for name in list(session.plugins.entries):
        try:
            settings_class = session.plugins.settings_class(name)
        except NanocoderError:
            continue
        if settings_class is not None:
            classes[name] = settings_class
    rows = session.config.items(classes)
    return {key: (value, str(origin)) for key, value, origin in rows}
