"""`nanocoder sessions undo` and `rewind`: files, and conversations, as they were before."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Final

from attrs import asdict
from nanocoder import Host, UsageError, counted, one_line
from nanocoder_kit_sessions.rewinding import FORKED, RewindRequest, Rewound
from nanocoder_kit_sessions.rewinding import rewind as rewind_session
from nanocoder_kit_sessions.undo import Undone, UndoRequest
from nanocoder_kit_sessions.undo import undo as undo_session

from nanocoder_command_sessions.changing import NEEDS_PERSON, prompt_number

NOT_CONFIRMED: Final = (
    "Nothing changed: no terminal to confirm on. Pass --yes to do it without asking."
)
NO_NUMBER: Final = (
    "name the prompt to go back to: --to N; `nanocoder sessions show {}` numbers them"
)
PROMPT_COLUMNS: Final = 60
MAX_NAMED: Final = 5


def undo(arguments: Namespace, host: Host) -> int:
    """Show the files to restore, and restore them if the user agrees, or with `--yes`."""
    request = UndoRequest(
        call=arguments.call or "",
        everything=arguments.all,
        redo=arguments.redo,
        file=arguments.file or "",
        force=arguments.force,
    )
    undone = undo_session(
        host, arguments.id, request, _line(arguments, host), _consent(arguments, host)
    )
    if arguments.output == "json":
        host.print_json(asdict(undone))
    if undone.files is None and not host.is_interactive:
        host.say(NOT_CONFIRMED)
        return NEEDS_PERSON
    if arguments.output != "json":
        host.print_line(_undone(undone, request))
    return 0


def _undone(undone: Undone, request: UndoRequest) -> str:
    """Return a line with the restored and the skipped files, and the command to reverse it."""
    skipped = undone.skipped
    if not undone.files:
        return "Nothing was changed."
    restored = f"Restored {counted(len(undone.files), 'file')}, left {_names(skipped)} as it is."
    way = f"sessions undo {undone.session_id}{'' if request.redo else ' --redo'}"
    return f"{restored if skipped else 'Done.'} To reverse it: nanocoder {way}"


def _names(paths: Sequence[str]) -> str:
    return ", ".join(paths) if len(paths) <= MAX_NAMED else counted(len(paths), "file")


def rewind(arguments: Namespace, host: Host) -> int:
    """Go back to before a prompt, with the conversation, the files, or both."""
    if arguments.to is None:
        raise UsageError(NO_NUMBER.format(arguments.id))
    request = RewindRequest(
        prompt_number("--to", arguments.to),
        conversation=not arguments.files,
        files=not arguments.conversation,
        force=arguments.force,
    )
    rewound = rewind_session(
        host, arguments.id, request, _line(arguments, host), _consent(arguments, host)
    )
    if arguments.output == "json":
        return _print_data(host, request, rewound)
    if rewound.files is None:
        if host.is_interactive:
            host.print_line("Nothing was changed.")
            return 0
        host.say(NOT_CONFIRMED)
        return NEEDS_PERSON
    host.print_line(_outcome(request, rewound))
    if rewound.files:
        host.say(f"To restore the files again: nanocoder sessions undo {rewound.session_id} --redo")
    if rewound.forked_from:
        host.say(FORKED.format(rewound.forked_from))
    return 0


def _print_data(host: Host, request: RewindRequest, rewound: Rewound) -> int:
    """Print the rewound parts as JSON; `files` is null if nothing was done without consent."""
    is_done = rewound.files is not None
    prompt = {"number": rewound.prompt.number, "text": rewound.prompt.text}
    conversation = request.conversation and is_done
    host.print_json({**asdict(rewound), "prompt": prompt, "conversation": conversation})
    if is_done or host.is_interactive:
        return 0
    host.say(NOT_CONFIRMED)
    return NEEDS_PERSON


def _line(arguments: Namespace, host: Host) -> Callable[[str], object]:
    """Return the function that prints the plan: to standard error beside JSON, else to output."""
    return host.say if arguments.output == "json" else host.print_line


def _outcome(request: RewindRequest, rewound: Rewound) -> str:
    """Return a line with the rewound parts, and the files that were skipped."""
    parts = ["conversation"] if request.conversation else []
    if rewound.files or rewound.skipped or not parts:
        skipped = rewound.skipped
        parts.append(f"files (except {_names(skipped)})" if skipped else "files")
    prompt = one_line(rewound.prompt.text, PROMPT_COLUMNS)
    return f"Rewound the {' and '.join(parts)} to before prompt {rewound.prompt.number}: {prompt}"


def _consent(arguments: Namespace, host: Host) -> Callable[[], bool]:
    def agree() -> bool:
        can_ask = host.is_interactive and not arguments.yes
        return host.agrees("Make these changes?") if can_ask else bool(arguments.yes)

    return agree
