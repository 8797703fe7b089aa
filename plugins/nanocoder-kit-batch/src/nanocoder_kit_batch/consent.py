"""A person's consent to what a file of tasks may do unasked, before anything of it starts.

The checks of tasks count as typed by the person, so no policy asks about them one by one; a mode
may ask about nothing. A file may come with a repository that somebody else wrote.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError, counted, for_terminal

YES: Final = "--yes"
NOBODY: Final = (
    "{place} has {what}, as the person who starts it; read them, and add {yes} to run them. Nothing"
    " was started.{listed}"
)
QUESTION: Final = "Run the checks that are listed above after the tasks?"
UNASKED: Final = "Let these tasks do what is listed above?"


def refuse_unread_checks(
    host: Host,
    place: Path,
    checks: Mapping[str, str],
    modes: Mapping[str, str] | None = None,
    *,
    is_agreed: bool,
) -> None:
    """List the *checks* of the file or folder *place*, by task, and let the person decide.

    *modes* are what the person has to know of tasks that take more than they chose. Each
    distinct text is listed, whole. No question is asked with *is_agreed*, and in a folder that the
    person trusts. Raises: UsageError without a yes.
    """
    trusted = host.config.trusted_folder
    is_trusted = trusted is not None and place.resolve().is_relative_to(trusted.resolve())
    lines, unasked = _listed(checks), _listed(modes or {})
    if is_agreed or is_trusted or not (lines or unasked):
        return
    listed = "\n  ".join(["", *lines, *unasked])
    parts = [f"{counted(len(lines), 'command')} to run after its tasks"] if lines else []
    parts += ["tasks that take more than you chose"] if unasked else []
    what = " and ".join(parts)
    if not host.is_interactive:
        raise UsageError(NOBODY.format(place=place, what=what, yes=YES, listed=listed))
    host.say(f"{place} has {what}:{listed}")
    if not host.agrees(QUESTION if lines else UNASKED):
        raise UsageError("nothing was started")


def _listed(texts: Mapping[str, str]) -> list[str]:
    """Return a line for each distinct text, behind the first task that has it."""
    tasks = dict[str, str]()
    for task, text in texts.items():
        tasks.setdefault(text, task)  # many tasks may have the same
    return [_describe(task, text) for text, task in tasks.items() if text]


def _describe(task: str, command: str) -> str:
    """Return a command on lines of its own where it has several, behind the name of its task."""
    text = for_terminal(command.strip())
    return (
        f"{task}: {text}" if "\n" not in text else f"{task}:\n    " + text.replace("\n", "\n    ")
    )
