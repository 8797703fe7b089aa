"""A tool's question to the person: choices by number, or their own words."""

import signal
import sys
import time
from functools import partial
from typing import Final

from nanocoder import Cancel, Question

from nanocoder_ui_terminal.line_input import LeftError, StoppedError, in_line_mode, read_line
from nanocoder_ui_terminal.terminal import Terminal, is_terminal
from nanocoder_ui_terminal.text_lines import message_lines

MAX_TRIES: Final = 100
MAX_DIGITS: Final = 9
SLIP: Final = "there is no choice {0}; type {0} again if that is your answer"
USUAL_LIMIT_S: Final = Question("").timeout_s


def ask_question(question: Question, cancelled: Cancel) -> str | None:
    """Return the answer; None without a terminal, after Ctrl-C, or when the time is over."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return None
    terminal = Terminal.of_process()
    limit_s = _limit_s(question)
    deadline = time.monotonic() + limit_s if limit_s else None
    try:
        return in_line_mode(partial(_read, question, terminal, cancelled, deadline))
    except LeftError:
        terminal.write("\n")
    except StoppedError:
        terminal.write("\n")
        if not cancelled.is_set():
            signal.raise_signal(signal.SIGINT)  # Ctrl-C ends the run here, too
    except (EOFError, TimeoutError):
        terminal.write("\n")
    return None


def _read(
    question: Question, terminal: Terminal, cancelled: Cancel, deadline: float | None
) -> str | None:
    _show(question, terminal)
    before = ""
    for _ in range(MAX_TRIES):
        typed = read_line(terminal, "Answer?", _hint(question), cancelled, deadline).strip()
        answer = _interpret(typed, question)
        if answer and (answer == before or not _is_slip(typed, question)):
            return answer
        if answer:
            terminal.write(f"{terminal.paint(SLIP.format(typed), 'yellow')}\n")
        before = answer
    return None


def _show(question: Question, terminal: Terminal) -> None:
    bar = terminal.paint(terminal.sign("bar"), "cyan")
    lines = list(message_lines(question.text, terminal.width - 2))
    for number, choice in enumerate(question.choices, 1):
        first, *more = message_lines(choice, terminal.width - 7)
        lines += [f"{number:2}. {first}", *(f"    {line}" for line in more)]
    terminal.write("".join(f"{bar} {line}".rstrip() + "\n" for line in lines))


def _hint(question: Question) -> str:
    parts = [f"1-{len(question.choices)}"] if question.choices else []
    if question.custom:
        parts.append("your own words")
    limit_s = _limit_s(question)
    return f"[{', or '.join(parts)}{f'; within {limit_s:g} s' if limit_s else ''}]"


def _limit_s(question: Question) -> float:
    """Return the limit in seconds; 0 means none, and so does the default of `Question`."""
    return 0.0 if question.timeout_s == USUAL_LIMIT_S else question.timeout_s


def _is_slip(typed: str, question: Question) -> bool:
    """Return True if *typed* is a number beside those of the choices: it may be meant as it is."""
    is_word = any(choice.casefold() == typed.casefold() for choice in question.choices)
    return (
        bool(question.choices)
        and typed.isdecimal()
        and not is_word
        and (not 1 <= int(typed[:MAX_DIGITS]) <= len(question.choices))
    )


def _interpret(typed: str, question: Question) -> str:
    """Return the choice that *typed* names, else *typed* if that is allowed, else ""."""
    is_short = len(typed) <= MAX_DIGITS  # Python refuses to read numbers of thousands of digits
    if is_short and typed.isdecimal() and 1 <= int(typed) <= len(question.choices):
        return question.choices[int(typed) - 1]
    for choice in question.choices:
        if choice.casefold() == typed.casefold():
            return choice
    return typed if question.custom else ""
