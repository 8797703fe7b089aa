"""What there is to choose from: the models of each provider, and the earlier sessions."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from nanocoder import counted

from nanocoder_ui_terminal.lines import in_conversation, one_line

if TYPE_CHECKING:
    from nanocoder_ui_terminal.chat import Conversation

FRESH_S: Final = 60.0
MAX_MODELS: Final = 20
MAX_SESSIONS: Final = 15
MAX_DIGITS: Final = 2
NAME_COLUMNS: Final = 60
TITLE_COLUMNS: Final = 50
MIN_TITLE_COLUMNS: Final = 12
BESIDE_TITLE: Final = len("15    59 min ago  15 turns  100 kB  20261122-044755-ghdn")
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
KILOBYTE: Final = 1_000


@frozen
class Value:
    """What a command may be given: *text* is typed, *shown* and *meaning* stand in the menu."""

    text: str
    shown: str = ""
    meaning: str = ""


class Models:
    """The models that can be chosen in a conversation, looked up again when they are old."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._known: Sequence[Any] = ()
        self._at = float("-inf")

    def values(self) -> list[Value]:
        """Return them all, for completion."""
        return [
            Value(f"{served.provider}/{model.name}", meaning=_about(model))
            for served in self._served()
            for model in served.models
        ]

    def show(self) -> None:
        """Show the model in use and what may be used instead."""
        current = self._conversation.model
        self._conversation.say(f"Current model: {current or 'none'}")
        rows = [row for served in self._served() for row in _rows(served, current)]
        self._conversation.show_table(rows)
        self._conversation.say("To change it: /model PROVIDER/MODEL (Tab completes)")

    def _served(self) -> Sequence[Any]:
        if time.monotonic() - self._at > FRESH_S:
            found = self._conversation.host.models(self._conversation.session)
            self._known = sorted(found, key=lambda served: not served.is_usable)
            self._at = time.monotonic()
        return self._known


class Sessions:
    """The earlier sessions of a directory. Their numbers are those of the list shown last."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._listed: list[str] = []

    def values(self) -> list[Value]:
        """Return the latest, for completion."""
        return [
            Value(one.id, one_line(one.title, TITLE_COLUMNS), age(one.updated))
            for one in self.find("")[:MAX_SESSIONS]
        ]

    def find(self, wanted: str) -> list[Any]:
        """Return what a number of the list, the beginning of an id, or words of a title mean.

        Nothing means all. The session that goes on is none of them.
        """
        own = self._conversation.session.id
        every = self._conversation.host.sessions()
        found = [one for one in every if one.turns and one.id != own]
        if wanted.isdecimal() and len(wanted) <= MAX_DIGITS:
            ids = self._listed or [one.id for one in found]
            return [one for one in found if one.id in ids[int(wanted) - 1 : int(wanted)]]
        begin = [one for one in found if one.id.startswith(wanted)]
        return begin or [one for one in found if one.matches(wanted.split())]

    def show(self, found: Sequence[Any]) -> None:
        """Show the first of some sessions, with numbers."""
        shown = found[:MAX_SESSIONS]
        self._listed = [one.id for one in shown]
        room = self._conversation.terminal.width - BESIDE_TITLE
        columns = max(MIN_TITLE_COLUMNS, min(TITLE_COLUMNS, room))
        rows = [(str(number), *_cells(one, columns)) for number, one in enumerate(shown, 1)]
        self._conversation.show_table(rows)


def _cells(one: Any, columns: int) -> tuple[str, ...]:
    return (
        one_line(one.title, columns),
        age(one.updated),
        counted(one.turns, "turn"),
        size(one.size),
        one.id,
    )


def age(at: float) -> str:
    """Return how long ago a time was, roughly."""
    seconds = max(0, int(time.time() - at))
    if seconds < MINUTE_S:
        return "just now"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S} min ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S} h ago"
    days = seconds // DAY_S
    return f"{counted(days, 'day')} ago"


def size(count: int) -> str:
    """Return a number of bytes, roughly."""
    if count < KILOBYTE:
        return counted(count, "byte")
    if count < KILOBYTE**2:
        return f"{count / KILOBYTE:.0f} kB"
    return f"{count / KILOBYTE**2:.1f} MB"


def _rows(served: Any, current: str) -> list[tuple[str, str]]:
    names = {f"{served.provider}/{model.name}": model for model in served.models}
    shown = [name for place, name in enumerate(names) if place < MAX_MODELS or name == current]
    rows = [
        (one_line(name, NAME_COLUMNS), _about(names[name], is_current=name == current))
        for name in shown
    ]
    if len(names) > len(shown):
        rows.append((f"{served.provider}/...", f"{len(names) - len(shown):,} more"))
    if served.problem:
        why = in_conversation(served.problem)
        rows.append((served.provider, why if served.is_usable else f"not ready: {why}"))
    return rows


def _about(model: Any, *, is_current: bool = False) -> str:
    context = f"{model.context:,} tokens" if model.context else ""
    return ", ".join(filter(None, ["current" if is_current else "", context, model.description]))
