"""The calls of one turn in one question: all, one by one, or none."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from attrs import evolve, frozen
from nanocoder import ApprovalRequest, Cancel

from nanocoder_ui_terminal.line_input import read_answer
from nanocoder_ui_terminal.preview import add_bar, message_rows, preview_lines
from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import write_note

Describe = Callable[..., tuple[str, bool]]

ALL: Final = ("y", "yes", "all")
ONE_BY_ONE: Final = ("o", "one")
NONE: Final = ("n", "no", "none")
QUIT: Final = ("q", "quit", "exit")
LEAST_LINES: Final = 3
ALL_LINES: Final = 1_000_000
LINES_OF_QUESTION: Final = 2
"""The heading above the calls, and the question below them."""
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
    """The user's decision about all calls: *kind* is "all", "one", "none" or "quit"."""

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
    show = partial(_describe_call, describe=describe, terminal=terminal)
    limits = _share(requests, show, terminal)
    for number, (request, limit) in enumerate(zip(requests, limits, strict=True), 1):
        terminal.write(show(number, request, lines=limit))
    choices = f"[y/n/o(ne by one)/1-{count}(show)/q(uit)] (?: help)"
    # With ten calls, a digit may be the first of two.
    digits = map(str, range(1, count + 1)) if count < TEN else ()
    keys = ("y", "n", "o", "q", "?", *digits)
    for _ in range(MAX_ASKED):
        typed = read_answer(
            terminal, f"Approve all {count}?", choices, keys, cancelled, until
        ).strip()
        if typed.isdecimal() and 0 < int(typed[:4]) <= count:
            terminal.write(show(int(typed), requests[int(typed) - 1], lines=ALL_LINES))
            continue
        if decision := _meaning(typed):
            return decision
        if typed.casefold() in HELP:
            rows = [f"  {key}  {meaning}" for key, meaning in KEYS.items()]
            terminal.write(add_bar(message_rows(rows, terminal.width - 2), requests[0], terminal))
            continue
        write_note(UNCLEAR_NOTE.format(typed), terminal)
    return Decision("none", "asked too often")


def _share(
    requests: Sequence[ApprovalRequest], show: Callable[..., str], terminal: Terminal
) -> list[int]:
    """Return the line limit of each preview; a short one leaves room to the others."""
    needs = [len(preview_lines(request, terminal)) for request in requests]
    heights = [show(1, request, lines=ALL_LINES).count("\n") for request in requests]
    room = terminal.size[1] - LINES_OF_QUESTION - (sum(heights) - sum(needs))
    limits = [0] * len(needs)
    for waiting, place in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        limits[place] = min(needs[place], max(LEAST_LINES, room // (len(needs) - waiting)))
        room -= limits[place]
    return limits


def _describe_call(
    number: int, request: ApprovalRequest, describe: Describe, lines: int, terminal: Terminal
) -> str:
    # Rules are granted one by one, so the list does not offer them.
    text, _ = describe(evolve(request, always="", grants=()), limit=lines, key=str(number))
    return f"{terminal.paint(f'{number}.', 'bold')}\n{text}"


def _meaning(typed: str) -> Decision | None:
    """Parse an answer; None for an unclear one, which approves nothing."""
    word, _, rest = typed.partition(" ")
    word = word.casefold()
    if word in NONE or not typed:
        return Decision("none", rest.strip())
    for kind, words in (("all", ALL), ("one", ONE_BY_ONE), ("quit", QUIT)):
        if word in words and not rest:
            return Decision(kind)
    return None
