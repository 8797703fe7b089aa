"""`/rewind`: go back to before an earlier prompt, which can be edited then."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanocoder import UsageError, one_line
from nanocoder_kit_sessions import RecordJournal
from nanocoder_kit_sessions.file_history import History
from nanocoder_kit_sessions.prompts import prompts_of
from nanocoder_kit_sessions.rewinding import FORKED, RewindRequest
from nanocoder_kit_sessions.rewinding import rewind as rewind_session

from nanocoder_kit_ui.chat.choices import age
from nanocoder_kit_ui.chat.undo import if_agreed

if TYPE_CHECKING:
    from nanocoder_kit_sessions.file_history import History
    from nanocoder_kit_sessions.prompts import Prompt
    from nanocoder_kit_sessions.rewinding import RewindRequest

    from nanocoder_kit_ui.chat.conversation import Conversation

MAX_DIGITS: Final = 9
SHOWN_COLUMNS: Final = 20
CONVERSATION, FILES = "conversation only", "files only"
PARTS: Final = ("conversation and files", CONVERSATION, FILES)
NOT_KEPT: Final = "this session is not kept, so it cannot go back to an earlier prompt"
STAY: Final = "Nothing was changed."


def rewind(conversation: "Conversation", argument: str) -> None:
    """Let the person choose a prompt, and what goes back to before it; then go back."""
    journal = conversation.session.journal
    if not isinstance(journal, RecordJournal):
        raise UsageError(NOT_KEPT)
    records = journal.records()
    prompts = prompts_of(records)
    if not prompts:
        conversation.display.say("There is no earlier prompt to go back to")
        return
    history = History.of_session(records, journal.artifacts)
    prompt = _named(prompts, argument) if argument else _choose_prompt(conversation, prompts)
    part = _choose_part(conversation, history, prompt) if prompt is not None else None
    if prompt is None or part is None:
        conversation.display.say(STAY)
        return
    request = RewindRequest(prompt.number, conversation=part != FILES, files=part != CONVERSATION)
    _go_back(conversation, prompt, request)


def _go_back(conversation: "Conversation", prompt: "Prompt", request: "RewindRequest") -> None:
    rewound = if_agreed(conversation, rewind_session, request)
    if rewound is None:
        return
    display = conversation.display
    if rewound.files is None:
        display.say(STAY)
        return
    _show_outcome(conversation, request, rewound.files)
    if rewound.forked_from:
        display.say(FORKED.format(rewound.forked_from))
    if request.conversation:
        conversation.context = 0
        display.begin(prompt.text)


def _show_outcome(
    conversation: "Conversation", request: "RewindRequest", files: Sequence[str]
) -> None:
    display = conversation.display
    restored = "; /redo brings the files back" if files else ""
    if not request.conversation:
        display.say(f"The files are as they were before prompt {request.number}{restored}")
        return
    display.show_messages(conversation.session.messages)
    display.say(f"Back before prompt {request.number}: edit it, or type another{restored}")


def _named(prompts: Sequence["Prompt"], argument: str) -> "Prompt":
    """Return the prompt whose number was typed; raises UsageError."""
    is_number = argument.isdecimal() and len(argument) <= MAX_DIGITS
    if is_number and 0 < int(argument) <= len(prompts):
        return prompts[int(argument) - 1]
    raise UsageError(
        f"there is no prompt {one_line(argument, SHOWN_COLUMNS)!r}; /rewind alone lists them"
    )


def _choose_prompt(conversation: "Conversation", prompts: Sequence["Prompt"]) -> "Prompt | None":
    options = [(prompt.text, age(prompt.at)) for prompt in prompts]
    number = conversation.display.choose("Go back to before prompt", options, conversation.leaving)
    return prompts[number - 1] if number else None


def _choose_part(conversation: "Conversation", history: "History", prompt: "Prompt") -> str | None:
    """Return the part to rewind; without changed files only the conversation."""
    if not history.since(prompt.seq).changes:
        return CONVERSATION
    options = [(part, "") for part in PARTS]
    number = conversation.display.choose("Take back", options, conversation.leaving)
    return PARTS[number - 1] if number else None
