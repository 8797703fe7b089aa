"""Choices for the user: the models of each provider, and the earlier sessions."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from attrs import frozen
from nanocoder import counted, one_line
from nanocoder_kit_sessions import SessionSummary, matches

from nanocoder_kit_ui.chat.wording import use_chat_commands

FRESH_S: Final = 60.0
MAX_MODELS: Final = 20
MAX_SESSIONS: Final = 15
MAX_DIGITS: Final = 2
NAME_COLUMNS: Final = 60
TITLE_COLUMNS: Final = 50
MIN_TITLE_COLUMNS: Final = 12
NUMBER_AND_GAPS: Final = "15" + "  " * 5
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
KILOBYTE: Final = 1_000


@frozen
class Value:
    """An argument of a command: *text* is typed, *label* and *meaning* are in the menu."""

    text: str
    label: str = ""
    meaning: str = ""


class Models:
    """The models that can be chosen in a conversation, looked up again when they are old."""

    def __init__(self, look_up: Callable[[], Iterable[Any]]) -> None:
        self._look_up = look_up
        self._served: Sequence[Any] = ()
        self._looked_up_at = float("-inf")

    def values(self) -> list[Value]:
        """Return them all, for completion."""
        return [
            Value(f"{served.provider}/{model.name}", meaning=_describe_model(model))
            for served in self._fresh()
            for model in served.models
        ]

    def rows(self, current: str) -> list[tuple[str, str]]:
        """Return a row for each model that can be used, *current* marked, and for each problem."""
        usable = (served for served in self._fresh() if served.is_usable)
        return [row for served in usable for row in _provider_rows(served, current)]

    def others(self) -> list[tuple[str, str]]:
        """Return the name of each provider that cannot be used yet, and what it needs."""
        others = (served for served in self._fresh() if not served.is_usable)
        return [(served.provider, use_chat_commands(served.problem)) for served in others]

    def _fresh(self) -> Sequence[Any]:
        if time.monotonic() - self._looked_up_at > FRESH_S:
            self._served = sorted(self._look_up(), key=lambda served: not served.is_usable)
            self._looked_up_at = time.monotonic()
        return self._served


class Sessions:
    """The earlier sessions of a directory. Their numbers are those of the list shown last.

    *shorten* makes a title fit into so many columns.
    """

    def __init__(
        self,
        list_all: Callable[[], Iterable[SessionSummary]],
        own_id: str,
        shorten: Callable[[str, int], str],
    ) -> None:
        self._list_all = list_all
        self._own_id = own_id
        self._shorten = shorten
        self._numbered: list[str] = []

    def values(self) -> list[Value]:
        """Return the latest, for completion."""
        return [
            Value(session.id, self._shorten(session.title, TITLE_COLUMNS), age(session.updated))
            for session in self.find("")[:MAX_SESSIONS]
        ]

    def find(self, query: str) -> list[SessionSummary]:
        """Return the sessions that a number of the list, the start of an ID or title words mean.

        An empty query means all. The current session is never among them.
        """
        sessions = [
            each for each in self._list_all() if each.is_answered and each.id != self._own_id
        ]
        if query.isdecimal() and len(query) <= MAX_DIGITS:
            ids = self._numbered or [session.id for session in sessions]
            number = int(query)
            return [session for session in sessions if session.id in ids[number - 1 : number]]
        by_id = [session for session in sessions if session.id.startswith(query)]
        return by_id or [session for session in sessions if matches(session, query.split())]

    def rows(self, sessions: Sequence[Any], width: int) -> list[tuple[str, ...]]:
        """Return a row for each of the first sessions, *width* columns wide, and number them."""
        listed = sessions[:MAX_SESSIONS]
        self._numbered = [session.id for session in listed]
        cells = [_cells(each) for each in listed]
        beside = sum(max(map(len, column)) for column in zip(*cells, strict=True))
        room = width - beside - len(NUMBER_AND_GAPS)
        columns = max(MIN_TITLE_COLUMNS, min(TITLE_COLUMNS, room))
        return [
            (str(number), self._shorten(each.title, columns), *own)
            for number, (each, own) in enumerate(zip(listed, cells, strict=True), 1)
        ]


def _cells(session: Any) -> tuple[str, ...]:
    return (
        age(session.updated),
        counted(session.prompts, "prompt"),
        size(session.size),
        session.id,
    )


def age(at: float) -> str:
    """Return the rough age of a time, such as "2 days ago"."""
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


def _provider_rows(served: Any, current: str) -> list[tuple[str, str]]:
    models = {f"{served.provider}/{model.name}": model for model in served.models}
    names = [name for place, name in enumerate(models) if place < MAX_MODELS or name == current]
    rows = [
        (
            one_line(name, NAME_COLUMNS),
            _describe_model(models[name], is_current=name == current),
        )
        for name in names
    ]
    if len(models) > len(names):
        rows.append((f"{served.provider}/...", f"{len(models) - len(names):,} more"))
    if served.problem:
        rows.append((served.provider, use_chat_commands(served.problem)))
    return rows


def _describe_model(model: Any, *, is_current: bool = False) -> str:
    context = f"{model.context:,} tokens" if model.context else ""
    return ", ".join(filter(None, ["current" if is_current else "", context, model.description]))
