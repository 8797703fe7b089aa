"""Instructions from files: AGENTS.md of the user and of the project, and the user's notes."""

import re
from collections.abc import Callable
from typing import Any

from attrs import field, validators
from nanocoder import (
    Request,
    Resource,
    SessionInfo,
    ToolCall,
    ToolResult,
    evolve,
    hookimpl,
    value,
)

from nanocoder_context_files.branch import branch_line
from nanocoder_context_files.files import Names, instructions

SMALL_CHARS = 1_500
"""Limit of each file for a small model."""
NESTED = "nested"
NESTED_SHARE = 4
"""The part that is shown of a file below the workspace is this many times smaller."""


@value
class Settings:
    """The table `[plugins.context-files]`.

    *names* are the files to look for; in each folder the first that exists is used. *max_chars* is
    the limit of one file, *notes* includes the user's notes. *owners* are other users whose files
    are trusted, by name or number.
    """

    # A project could name another file, such as the configuration beside the user's own.
    names: tuple[str, ...] = field(
        default=("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"), metadata={"user_only": True}
    )
    max_chars: int = field(default=20_000, validator=validators.ge(0))
    notes: bool = True
    owners: tuple[str, ...] = field(default=(), metadata={"user_only": True})


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.context-files]`."""
    return Settings


@hookimpl
def nanocoder_prompt(session: SessionInfo, settings: Any) -> str | None:
    """Return the branch of the repository, and the instructions, the nearest last."""
    branch = "" if session.profile == "small" else branch_line(session.cwd)
    return "\n\n".join(filter(None, [branch, _text(session, settings)])) or None


@hookimpl
def nanocoder_before_request(
    request: Request, session: SessionInfo, settings: Any
) -> Request | None:
    """Update the files in the prompt, and add new ones."""
    now, system = _text(session, settings), request.system
    before = re.search(BLOCK, system, re.DOTALL) if HEAD in system else None
    if before is None:
        return evolve(request, system=f"{system}\n\n{now}") if now else None
    if before[0] == now:
        return None
    head = system[: before.start()] if now else system[: before.start()].rstrip("\n")
    return evolve(request, system=f"{head}{now}{system[before.end() :]}")


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the record of the folders that a session has visited."""
    return [Resource(NESTED, lambda _session, _settings: _nested())]


def _nested() -> Any:
    from nanocoder_context_files.nested import Nested  # not before the first call

    return Nested()


@hookimpl
def nanocoder_after_execute(
    result: ToolResult,
    call: ToolCall,
    session: SessionInfo,
    settings: Any,
    resource: Callable[[str], Any],
) -> ToolResult | None:
    """Add the files of the folders below the workspace that the call was the first to touch.

    A small model gets nothing: it would mistake the note for the request.
    """
    if result.is_error or call.parent_id or session.profile == "small":
        return None
    settings = settings or Settings()
    names = Names(settings.names, notes=False)
    most, owners = settings.max_chars // NESTED_SHARE, settings.owners
    note = resource(NESTED).notes_for(call.arguments, session, names, most, owners)
    if not note:
        return None
    return evolve(result, output=f"{result.output}\n\n{note}".lstrip(), data=result.data)


HEAD = "Instructions from files, the nearest last; where they disagree, the last counts."
MARKS = "A line that ends with {mark}] stands between files, and in none."
END = "[end of the files; {mark}]"
# As text: a start without such files compiles nothing.
BLOCK = rf"{re.escape(HEAD)} A line that ends with (\w+)\].*?\n\[end of the files; \1\]"


def _text(session: SessionInfo, settings: Any) -> str:
    settings = settings or Settings()
    most = (
        min(settings.max_chars, SMALL_CHARS) if session.profile == "small" else settings.max_chars
    )
    names = Names(settings.names, notes=settings.notes)
    read = instructions(session, names, most, settings.owners)
    for notice in read.notices:
        session.notices.add(notice)
    if not read.texts:
        return ""
    head = f"{HEAD} {MARKS.format(mark=read.mark)}"
    return "\n\n".join([head, *read.texts, END.format(mark=read.mark)])
