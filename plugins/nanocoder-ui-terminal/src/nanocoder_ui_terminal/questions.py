"""Questions of the conversation's own commands: a yes, or one of several options."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from nanocoder import Cancel

from nanocoder_ui_terminal.line_input import (
    ENTER,
    StoppedError,
    in_line_mode,
    read_answer,
    read_line,
)
from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import one_line, write_note

MAX_LISTED: Final = 15
MAX_TRIES: Final = 100
MAX_DIGITS: Final = 9
BESIDE_OPTION: Final = len("| 123. 59 min ago  ")
MIN_COLUMNS: Final = 20
YES: Final = ("y", "yes")
NO: Final = ("", "n", "no", "q", "quit", "exit")
UNCLEAR: Final = "{!r} is neither yes nor no: type y or n"
NONE: Final = ("", "q", "quit", "exit")
NO_CHOICE: Final = "{!r} is not a number of the list; Enter, q or Esc leaves it"


def is_agreed(question: str, terminal: Terminal, cancelled: Cancel) -> bool:
    """Ask for a yes; an unclear answer asks again, and the end of the input is a no."""
    try:
        answer = in_line_mode(partial(_is_yes, question, terminal, cancelled))
    except (StoppedError, EOFError):
        answer = False
    terminal.write("\n")
    return answer


def _is_yes(question: str, terminal: Terminal, cancelled: Cancel) -> bool:
    for _ in range(MAX_TRIES):
        keys = (*YES, *NO, *ENTER)
        typed = read_answer(terminal, question, "[y/n]", keys, cancelled).strip().casefold()
        if typed in YES + NO:
            return typed in YES
        write_note(UNCLEAR.format(typed), terminal)
    return False


def choose(
    question: str, options: Sequence[tuple[str, str]], terminal: Terminal, cancelled: Cancel
) -> int:
    """Return the number of the option that the person takes; 0 for none."""
    try:
        number = in_line_mode(partial(_read_number, question, options, terminal, cancelled))
    except (StoppedError, EOFError):
        number = 0
    terminal.write("\n")
    return number


def _option_lines(options: Sequence[tuple[str, str]], terminal: Terminal) -> list[str]:
    """Return the last options, each with its number."""
    bar, dot = terminal.paint(terminal.sign("bar"), "cyan"), terminal.sign("dot")
    columns = max(MIN_COLUMNS, terminal.width - BESIDE_OPTION)
    earlier = max(0, len(options) - MAX_LISTED)
    lines = [f"{bar} {earlier} earlier"] if earlier else []
    for number, (text, remark) in enumerate(options[earlier:], earlier + 1):
        beside = f" {terminal.paint(f'{dot} {remark}', 'dim')}" if remark else ""
        lines.append(f"{bar} {number:3}. {one_line(text, columns)}{beside}")
    return lines


def _read_number(
    question: str, options: Sequence[tuple[str, str]], terminal: Terminal, cancelled: Cancel
) -> int:
    """Return the number that the person types, 0 for Enter alone or q.

    Raises: StoppedError, EOFError.
    """
    terminal.write("".join(f"{line}\n" for line in _option_lines(options, terminal)))
    count = len(options)
    hint = f"[1-{count}, Enter for none]" if count > 1 else "[1, Enter for none]"
    for _ in range(MAX_TRIES):
        typed = read_line(terminal, question, hint, cancelled).strip()
        if typed.casefold() in NONE:
            return 0
        if typed.isdecimal() and len(typed) <= MAX_DIGITS and 0 < int(typed) <= count:
            return int(typed)
        write_note(NO_CHOICE.format(one_line(typed, MIN_COLUMNS)), terminal)
    return 0
