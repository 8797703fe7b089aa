"""A person's consent to the commands in a file of tasks, before anything of it starts.

The checks of tasks count as typed by the person, so no policy asks about them one by one. A file
may come with a repository that somebody else wrote.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError, counted, for_terminal

YES: Final = "--yes"
NOBODY: Final = (
    "{place} has {count} to run after its tasks, as the person who starts it; read them, and add"
    " {yes} to run them. Nothing was started.{listed}"
)
QUESTION: Final = "Run the checks that are listed above after the tasks?"


def refuse_unread_checks(
    host: Host, place: Path, checks: Mapping[str, str], *, is_agreed: bool
) -> None:
    """List the *checks* of the file or folder *place*, by task, and let the person decide.

    Each distinct command is listed, whole. No question is asked with *is_agreed*, and in a folder
    that the person trusts. Raises: UsageError without a yes.
    """
    trusted = host.config.trusted_folder
    is_trusted = trusted is not None and place.resolve().is_relative_to(trusted.resolve())
    tasks = dict[str, str]()
    for task, command in checks.items():
        tasks.setdefault(command, task)  # many tasks may have the same check
    lines = [_describe(task, command) for command, task in tasks.items() if command]
    if not lines or is_agreed or is_trusted:
        return
    listed = "\n  ".join(["", *lines])
    count = counted(len(lines), "command")
    if not host.is_interactive:
        raise UsageError(NOBODY.format(place=place, count=count, yes=YES, listed=listed))
    host.say(f"{place} has {count} to run after its tasks:{listed}")
    if not host.agrees(QUESTION):
        raise UsageError("nothing was started")


def _describe(task: str, command: str) -> str:
    """Return a command on lines of its own where it has several, behind the name of its task."""
    text = for_terminal(command.strip())
    return (
        f"{task}: {text}" if "\n" not in text else f"{task}:\n    " + text.replace("\n", "\n    ")
    )
