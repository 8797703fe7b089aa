"""The calls of one turn in one question: all, one by one, or none."""

from collections.abc import Callable, Sequence
from typing import Final

from attrs import evolve, frozen
from nanocoder import ApprovalRequest, Cancel, for_terminal

from nanocoder_ui_terminal.line_input import read_answer
from nanocoder_ui_terminal.preview import add_bar, message_rows
from nanocoder_ui_terminal.terminal import Terminal

Describe = Callable[..., tuple[str, bool]]

ALL: Final = ("y", "yes", "all")
ONE_BY_ONE: Final = ("o", "one")
NONE: Final = ("n", "no", "none")
QUIT: Final = ("q", "quit", "exit")
LEAST_LINES: Final = 3
LINES_AROUND: Final = 7
"""The number of lines around one preview in the list."""
MAX_ASKED: Final = 100
TEN: Final = 10
HELP: Final = ("?", "help")
KEYS: Final = {
    "y": "approve all",
    "n": "refuse all; Esc does, too",
    "o": "decide about each call by itself, where rules can be granted, too",
    "1": "show call 1 in full, and so on",
    "q": "refuse all, and end the run; Ctrl-C does, too",
}
UNCLEAR_NOTE: Final = "{!r} is none of these answers: type y to approve all, n to refuse all"


@frozen
class Decision:
    """What the person decided about all calls: *kind* is "all", "one", "none" or "quit"."""

    kind: str
    reason: str = ""


def decide(
    requests: Sequence[ApprovalRequest],
    describe: Describe,
    terminal: Terminal,
    cancelled: Cancel,
    until: float | None,
) -> Decision:
    """Show what every call would do and return the decision; each can be shown in full.

    *describe* returns the text of a request with at most so many lines, and whether that leaves out
    some. *until* is on the monotonic clock. Raises: EOFError, TimeoutError, StoppedError.
    """
    count = len(requests)
    terminal.write(terminal.paint(f"{count} calls of this turn need your approval", "bold") + "\n")
    lines = max(LEAST_LINES, (terminal.size[1] - 2) // count - LINES_AROUND)
    for number, request in enumerate(requests, 1):
        terminal.write(_describe_call(number, request, describe, lines, terminal))
    choices = f"[y/n/o(ne by one)/1-{count} shows one/q(uit)] (?: help)"
    # With ten calls, a digit may be the first of two.
    digits = map(str, range(1, count + 1)) if count < TEN else ()
    keys = ("y", "n", "o", "q", "?", *digits)
    for _ in range(MAX_ASKED):
        typed = read_answer(
            terminal, f"Approve all {count}?", choices, keys, cancelled, until
        ).strip()
        if typed.isdecimal() and 0 < int(typed[:4]) <= count:
            terminal.write(
                _describe_call(int(typed), requests[int(typed) - 1], describe, 1_000_000, terminal)
            )
            continue
        if decision := _meaning(typed):
            return decision
        if typed.casefold() in HELP:
            rows = [f"  {key}  {meaning}" for key, meaning in KEYS.items()]
            terminal.write(add_bar(message_rows(rows, terminal.width - 2), requests[0], terminal))
            continue
        note = UNCLEAR_NOTE.format(for_terminal(typed))
        terminal.write(f"{terminal.paint(note, 'yellow')}\n")
    return Decision("none", "asked too often")


def _describe_call(
    number: int, request: ApprovalRequest, describe: Describe, lines: int, terminal: Terminal
) -> str:
    # Rules are granted one by one, so the list does not offer them.
    text, _ = describe(evolve(request, always="", grants=()), limit=lines, key=str(number))
    return f"{terminal.paint(f'{number}.', 'bold')}\n{text}"


def _meaning(typed: str) -> Decision | None:
    """Return what an answer means; None for one that is not clear, which approves nothing."""
    word, _, rest = typed.partition(" ")
    word = word.casefold()
    if word in NONE or not typed:
        return Decision("none", rest.strip())
    for kind, words in (("all", ALL), ("one", ONE_BY_ONE), ("quit", QUIT)):
        if word in words and not rest:
            return Decision(kind)
    return None
