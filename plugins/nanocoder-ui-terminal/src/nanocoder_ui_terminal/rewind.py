"""`/rewind`, and Esc Esc: go back to before an earlier prompt, which can be edited then."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanocoder import NanocoderError, UsageError

from nanocoder_ui_terminal.choices import age
from nanocoder_ui_terminal.last_exchange import last_exchange
from nanocoder_ui_terminal.line_input import StoppedError, line_mode, read_line
from nanocoder_ui_terminal.text_lines import one_line, use_chat_commands
from nanocoder_ui_terminal.undo import agrees_to_restore

if TYPE_CHECKING:
    from nanocoder_kit_sessions.file_history import History
    from nanocoder_kit_sessions.prompts import Prompt
    from nanocoder_kit_sessions.rewinding import RewindRequest

    from nanocoder_ui_terminal.conversation import Conversation

MAX_LISTED: Final = 15
MAX_TRIES: Final = 100
BESIDE_PROMPT: Final = len("| 123. 59 min ago  ")
MIN_COLUMNS: Final = 20
CONVERSATION, FILES = "conversation only", "files only"
PARTS: Final = ("conversation and files", CONVERSATION, FILES)
NOT_KEPT: Final = "this session is not kept, so it cannot go back to an earlier prompt"
STAY: Final = "Nothing was changed."
NONE: Final = ("", "q", "quit", "exit")
NO_CHOICE: Final = "{!r} is not a number of the list; Enter, q or Esc leaves it"


def rewind(conversation: "Conversation", argument: str) -> None:
    """Let the person choose a prompt, and what goes back to before it; then go back."""
    from nanocoder_kit_sessions import RecordJournal  # few conversations are rewound
    from nanocoder_kit_sessions.file_history import History
    from nanocoder_kit_sessions.prompts import prompts_of
    from nanocoder_kit_sessions.rewinding import RewindRequest

    journal = conversation.session.journal
    if not isinstance(journal, RecordJournal):
        raise UsageError(NOT_KEPT)
    records = journal.records()
    prompts = prompts_of(records)
    if not prompts:
        conversation.say("There is no earlier prompt to go back to")
        return
    history = History.of_session(records, journal.artifacts)
    try:
        with line_mode():
            prompt = (
                _named(prompts, argument) if argument else _choose_prompt(conversation, prompts)
            )
            part = _choose_part(conversation, history, prompt)
    except (StoppedError, EOFError):
        conversation.terminal.write("\n")
        prompt = part = None
    if prompt is None or part is None:
        conversation.say(STAY)
        return
    conversation.terminal.write("\n")
    request = RewindRequest(prompt.number, conversation=part != FILES, files=part != CONVERSATION)
    _go_back(conversation, prompt, request)


def _go_back(conversation: "Conversation", prompt: "Prompt", request: "RewindRequest") -> None:
    from nanocoder_kit_sessions.rewinding import FORKED
    from nanocoder_kit_sessions.rewinding import rewind as rewind_session

    def agree() -> bool:
        return agrees_to_restore(conversation)

    try:
        rewound = rewind_session(
            conversation.host, conversation.session, request, conversation.show_change, agree
        )
    except NanocoderError as error:
        conversation.say(use_chat_commands(str(error)), "yellow")
        return
    if rewound.files is None:
        conversation.say(STAY)
        return
    _show_outcome(conversation, request, rewound.files)
    if rewound.forked_from:
        conversation.say(FORKED.format(rewound.forked_from))
    if request.conversation:
        conversation.context = 0
        conversation.queue.begin(prompt.text)


def _show_outcome(
    conversation: "Conversation", request: "RewindRequest", files: Sequence[str]
) -> None:
    restored = "; /redo brings the files back" if files else ""
    if not request.conversation:
        conversation.say(f"The files are as they were before prompt {request.number}{restored}")
        return
    if conversation.session.messages:
        lines = last_exchange(conversation.session.messages, conversation.terminal)
        conversation.show_lines(lines)
    conversation.say(f"Back before prompt {request.number}: edit it, or type another{restored}")


def _named(prompts: Sequence["Prompt"], argument: str) -> "Prompt":
    """Return the prompt whose number was typed; raises UsageError."""
    if argument.isdecimal() and len(argument) < 10 and 0 < int(argument) <= len(prompts):  # noqa: PLR2004
        return prompts[int(argument) - 1]
    raise UsageError(
        f"there is no prompt {one_line(argument, MIN_COLUMNS)!r}; /rewind alone lists them"
    )


def _choose_prompt(conversation: "Conversation", prompts: Sequence["Prompt"]) -> "Prompt | None":
    terminal = conversation.terminal
    bar, dot = terminal.paint(terminal.sign("bar"), "cyan"), terminal.sign("dot")
    columns = max(MIN_COLUMNS, terminal.width - BESIDE_PROMPT)
    listed = prompts[-MAX_LISTED:]
    lines = [f"{bar} {len(prompts) - len(listed)} earlier"] if len(listed) < len(prompts) else []
    for prompt in listed:
        when = terminal.paint(f"{dot} {age(prompt.at)}", "dim")
        lines.append(f"{bar} {prompt.number:3}. {one_line(prompt.text, columns)} {when}")
    terminal.write("".join(f"{line}\n" for line in lines))
    number = _choose(conversation, "Go back to before prompt", len(prompts))
    return prompts[number - 1] if number else None


def _choose_part(
    conversation: "Conversation", history: "History", prompt: "Prompt | None"
) -> str | None:
    """Return what goes back; only the conversation can where no file was changed."""
    if prompt is None or not history.since(prompt.seq).changes:
        return CONVERSATION
    bar = conversation.terminal.paint(conversation.terminal.sign("bar"), "cyan")
    lines = [f"{bar} {number:3}. {part}\n" for number, part in enumerate(PARTS, 1)]
    conversation.terminal.write("".join(lines))
    number = _choose(conversation, "Take back", len(PARTS))
    return PARTS[number - 1] if number else None


def _choose(conversation: "Conversation", question: str, count: int) -> int:
    """Return the number that the person types, 0 for Enter alone or q.

    Raises: StoppedError, EOFError.
    """
    hint = f"[1-{count}, Enter for none]" if count > 1 else "[1, Enter for none]"
    for _ in range(MAX_TRIES):
        typed = read_line(conversation.terminal, question, hint, conversation.leaving).strip()
        if typed.casefold() in NONE:
            return 0
        if typed.isdecimal() and len(typed) < 10 and 0 < int(typed) <= count:  # noqa: PLR2004
            return int(typed)
        note = NO_CHOICE.format(one_line(typed, MIN_COLUMNS))
        conversation.terminal.write(f"{conversation.terminal.paint(note, 'yellow')}\n")
    return 0
