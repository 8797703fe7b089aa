"""`nanocoder sessions undo`: restore the files that a session changed, or reverse that."""

from argparse import Namespace
from typing import Final

from nanocoder import Host
from nanocoder_kit_sessions.undo import UndoRequest
from nanocoder_kit_sessions.undo import undo as undo_session

from nanocoder_command_sessions.changing import NEEDS_PERSON

NOT_CONFIRMED: Final = (
    "Nothing changed: no terminal to confirm on. Pass --yes to do it without asking."
)


def undo(arguments: Namespace, host: Host) -> int:
    """Show what would be restored, and do it if the person agrees, or `--yes` does."""
    request = UndoRequest(
        call=arguments.call or "",
        everything=arguments.all,
        redo=arguments.redo,
        file=arguments.file or "",
        force=arguments.force,
    )

    def agree() -> bool:
        can_ask = host.is_interactive and not arguments.yes
        return host.agrees("Restore these files?") if can_ask else bool(arguments.yes)

    undone = undo_session(host, arguments.id, request, host.print_line, agree)
    if undone.files is None and not host.is_interactive:
        host.say(NOT_CONFIRMED)
        return NEEDS_PERSON
    way = f"sessions undo {undone.session_id}{'' if request.redo else ' --redo'}"
    is_done = undone.files is not None
    host.print_line(f"Done. To reverse it: nanocoder {way}" if is_done else "Nothing was changed.")
    return 0
