"""The user's consent to the commands and modes of a task file, before anything starts.

The checks of tasks run as if the user had typed them, so no policy asks about each; a mode may ask
about nothing. The file may come with somebody else's repository.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError, counted, for_terminal

YES: Final = "--yes"
NOBODY: Final = (
    "{place} has {what}, with your rights; read them, and add {yes} to run them. Nothing"
    " was started.{listed}"
)
QUESTION: Final = "Run the checks that are listed above after the tasks?"
UNASKED: Final = "Let these tasks do what is listed above?"


def refuse_unread_checks(
    host: Host,
    path: Path,
    checks: Mapping[str, str],
    modes: Mapping[str, str] | None = None,
    *,
    is_agreed: bool,
) -> None:
    """List the *checks* of the file or folder *path*, by task, and ask for the user's consent.

    *modes* are warnings about tasks that take more rights than the user chose. Each distinct text
    is listed in full. There is no question with *is_agreed*, and none in a trusted folder. Raises:
    UsageError without consent.
    """
    trusted = host.config.trusted_folder
    is_trusted = trusted is not None and path.resolve().is_relative_to(trusted.resolve())
    lines, unasked = _listed(checks), _listed(modes or {})
    if is_agreed or is_trusted or not (lines or unasked):
        return
    listed = "\n  ".join(["", *lines, *unasked])
    parts = [f"{counted(len(lines), 'command')} to run after its tasks"] if lines else []
    parts += ["tasks that take more than you chose"] if unasked else []
    what = " and ".join(parts)
    if not host.is_interactive:
        raise UsageError(NOBODY.format(place=path, what=what, yes=YES, listed=listed))
    host.say(f"{path} has {what}:{listed}")
    if not host.agrees(QUESTION if lines else UNASKED):
        raise UsageError("nothing was started")


def _listed(texts: Mapping[str, str]) -> list[str]:
    """Return a line for each distinct text, behind the first task that has it."""
    tasks = dict[str, str]()
    for task, text in texts.items():
        tasks.setdefault(text, task)  # many tasks may have the same
    return [_describe(task, text) for text, task in tasks.items() if text]


def _describe(task: str, command: str) -> str:
    """Return the name of a task and its command, which starts a new line if it has several."""
    text = for_terminal(command.strip())
    return (
        f"{task}: {text}" if "\n" not in text else f"{task}:\n    " + text.replace("\n", "\n    ")
    )
