"""The commands `/context` and `/compact`: what fills the model's window, and making room in it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from attrs import asdict
from nanocoder import Event, Usage, for_terminal, spoken
from nanocoder_kit_sessions.context import (
    ASSUMED_WINDOW,
    aligned,
    restore,
    sources_of,
    window_rows,
)

from nanocoder_kit_ui.chat.wording import use_chat_commands

if TYPE_CHECKING:
    from nanocoder import Session

    from nanocoder_kit_ui.chat.conversation import Conversation

COMPACTS: Final = "compacting"
PREVIEW: Final = "preview"
RESTORE: Final = "restore"
NOTHING: Final = (
    "nothing was shortened: {} found no older part to leave out, since the latest messages always"
    " stay. /context shows what fills the window; /clear starts an empty conversation"
)
NO_PLUGIN: Final = (
    "nothing was shortened: no plugin that shortens conversations is installed and enabled"
    " (see `nanocoder plugins list`); /clear starts an empty conversation"
)
EMPTY: Final = "nothing to compact yet: the conversation is empty"
STOPPED: Final = "stopped; the conversation is as it was"
NO_WORDS: Final = "{} takes no words: {!r} did not decide what is kept"
UNKNOWN_WINDOW: Final = (
    "the window of this model is unknown, so a usual one is taken: `nanocoder config set context N`"
    " sets it, in tokens"
)
ESTIMATED: Final = (
    "These figures are estimates; by the model's own count, it was {:,} tokens with the last reply"
)
ALL: Final = "all requests: input"
SINCE: Final = "requests since the resume: input"
NOTHING_YET: Final = "nothing yet"
STOPPED_REQUESTS: Final = "{} without a count: the provider may charge for what it read and wrote"
WAY_BACK: Final = "To take it back: /compact restore"


def show_context(conversation: "Conversation", _argument: str) -> None:
    """Show how many tokens each source takes in the next request."""
    session = conversation.session
    window = session.window_tokens
    sign = conversation.display.block
    rows = window_rows(sources_of(session), window or ASSUMED_WINDOW, sign)
    conversation.display.show_table(aligned(rows))
    if conversation.context:
        conversation.display.say(ESTIMATED.format(conversation.context))
    if not window:
        conversation.display.warn(UNKNOWN_WINDOW)


def show_cost(conversation: "Conversation", _argument: str) -> None:
    """Show tokens and money of all requests, and of each model if there were several."""
    usage = conversation.usage
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    # Without a request, and after one that was stopped or rewound, nothing was counted yet.
    tokens = conversation.context or _expected_tokens(conversation)
    share = f" ({usage.cache_read_tokens / read:.0%})" if usage.cache_read_tokens else ""
    rows = [
        ("prompt, tools, conversation", f"{tokens:,} tokens"),
        (SINCE if conversation.is_resumed else ALL, f"{usage.input_tokens:,} tokens"),
        ("from the cache", f"{usage.cache_read_tokens:,} tokens{share}"),
        ("output", f"{usage.output_tokens:,} tokens"),
        ("cost", _price(usage) if conversation.usage_by_model else NOTHING_YET),
    ]
    if count := conversation.stopped_requests:
        rows.append(("stopped requests", STOPPED_REQUESTS.format(count)))
    models = conversation.usage_by_model
    if len(models) > 1:
        rows += [(for_terminal(model), _price(models[model])) for model in models]
    conversation.display.show_table(rows)


def _expected_tokens(conversation: "Conversation") -> int:
    return sum(source.tokens for source in sources_of(conversation.session))


def _price(usage: Usage) -> str:
    if usage.cost == 0 and usage.output_tokens:
        return "free"
    return "unknown" if usage.cost is None else f"${usage.cost:.4f}"


def compact(conversation: "Conversation", argument: str) -> None:
    """Make the conversation shorter, show what would be done, or take it back."""
    session = conversation.session
    if argument == RESTORE:
        _show_events(conversation, restore(session))
        return
    before = session.report.usage
    focus = argument.removeprefix(PREVIEW).strip()
    if argument.split(maxsplit=1)[:1] == [PREVIEW]:
        _preview(conversation, focus)
    elif plugin := _show_events(
        conversation, conversation.finish(_compact(conversation, focus), COMPACTS)
    ):
        _say_words_were_ignored(conversation, plugin, focus)
        conversation.display.say(WAY_BACK)
    else:
        conversation.display.warn(_why_nothing(session))
    conversation.usage += _difference(session.report.usage, before)


def _compact(conversation: "Conversation", focus: str) -> Iterable[Event]:
    session, prepared = conversation.session, conversation.prepared
    return session.compact(focus) if prepared is None else session.replace(prepared)


def _preview(conversation: "Conversation", focus: str) -> None:
    """Show what a compaction would do; `/compact` does the same then, and does not ask again."""
    session = conversation.session
    with conversation.stoppable(COMPACTS):
        shortened = session.propose(focus)
    if shortened is None:
        conversation.display.warn(_why_nothing(session))
        return
    conversation.prepare(shortened)
    for message in shortened.messages:
        if message.typed is not None and message.role == "user":
            typed, added = spoken(message)
            for label, text in (("you", typed), ("added for the model", added)):
                if text:
                    conversation.display.say(f"{label}: {text}")
    conversation.display.say(
        f"{shortened.plugin} would shorten the conversation from {shortened.before_tokens:,} to"
        f" {shortened.after_tokens:,} tokens, and from {len(conversation.session.messages)} to"
        f" {len(shortened.messages)} messages; /compact does it"
    )
    _say_words_were_ignored(conversation, shortened.plugin, focus)


def _say_words_were_ignored(conversation: "Conversation", plugin: str, words: str) -> None:
    hooks = conversation.session.plugins.implementations("nanocoder_compact")
    takes_words = any(hook.plugin == plugin and "focus" in hook.parameters for hook in hooks)
    if words and not takes_words:
        conversation.display.warn(NO_WORDS.format(plugin, for_terminal(words)))


def _why_nothing(session: "Session") -> str:
    if session.compaction.cancel.is_set():
        return STOPPED
    if not session.messages:
        return EMPTY
    hooks = session.plugins.implementations("nanocoder_compact")
    return NOTHING.format(" and ".join(hook.plugin for hook in hooks)) if hooks else NO_PLUGIN


def _show_events(conversation: "Conversation", events: Iterable[Event]) -> str:
    """Show what a compaction did; return the plugin that did it, "" for none."""
    plugin = ""
    for event in events:
        if event.kind == "transcript.compacted":
            plugin = event.data["plugin"]
            # The window holds the prompt and the tools, too.
            conversation.context = _expected_tokens(conversation)
            conversation.display.say(event.data["message"])
        elif event.kind == "notice":
            conversation.display.warn(use_chat_commands(event.data["text"]))
    return plugin


def _difference(after: Usage, before: Usage) -> Usage:
    earlier = asdict(before)
    more = {name: (value or 0) - (earlier[name] or 0) for name, value in asdict(after).items()}
    return Usage(**more if after.cost is not None else {**more, "cost": None})
