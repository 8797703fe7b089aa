"""Instructions from files: AGENTS.md of the user and of the project, and the user's notes."""

from typing import Any

from attrs import evolve, field, validators
from nanocoder import Request, SessionInfo, hookimpl, value

from nanocoder_context_files.files import Names, instructions

SMALL_CHARS = 1_500
"""A small model gets at most so much of each file."""


@value
class Settings:
    """The table `[plugins.context-files]`.

    *names* are the files to look for; in each folder the first that is there counts. *max_chars* is
    how much of one file is shown, *notes* whether the user's notes are.
    """

    names: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md")
    max_chars: int = field(default=20_000, validator=validators.ge(0))
    notes: bool = True


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.context-files]`."""
    return Settings


@hookimpl
def nanocoder_prompt(session: SessionInfo, settings: Any) -> str | None:
    """Return what the files say, the nearest last."""
    return _text(session, settings) or None


@hookimpl
def nanocoder_before_request(
    request: Request, session: SessionInfo, settings: Any
) -> Request | None:
    """Put the files into the prompt as they are now, also those that came meanwhile."""
    now, system = _text(session, settings), request.system
    start = system.find(HEAD)
    if start < 0:
        return evolve(request, system=f"{system}\n\n{now}") if now else None
    end = system.find(END, start)
    if end < 0 or system[start : end + len(END)] == now:
        return None
    before = system[:start] if now else system[:start].rstrip("\n")
    return evolve(request, system=f"{before}{now}{system[end + len(END) :]}")


HEAD = "Instructions from files, the nearest last; where they disagree, the last counts."
END = "[end of the files]"


def _text(session: SessionInfo, settings: Any) -> str:
    settings = settings or Settings()
    most = (
        min(settings.max_chars, SMALL_CHARS) if session.profile == "small" else settings.max_chars
    )
    texts = instructions(session, Names(settings.names, notes=settings.notes), most)
    return "\n\n".join([HEAD, *texts, END]) if texts else ""
