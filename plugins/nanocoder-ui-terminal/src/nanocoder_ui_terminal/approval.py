"""The question whether a call may run. Everything that is not a clear yes is a no."""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from attrs import define
from nanocoder import ApprovalAnswer, ApprovalRequest

from nanocoder_ui_terminal.editor import Draft
from nanocoder_ui_terminal.preview import question
from nanocoder_ui_terminal.terminal import Terminal, is_terminal

YES: Final = ("y", "yes")
NO: Final = ("n", "no")
EDIT: Final = ("e", "edit")
ALWAYS: Final = ("a", "always")
SHOW: Final = ("s", "show")
MAX_ANSWER_BYTES: Final = 4_096
MAX_QUESTIONS: Final = 100
"""How often one request is put again, after edits that came to nothing."""


class Limits(Protocol):
    """The setting that the question looks at."""

    @property
    def preview_lines(self) -> int: ...  # noqa: D102


class _StoppedError(BaseException):
    """A signal ended the question; no `except Exception` may swallow it."""


@define
class _Asked:
    """One request on the terminal, with the draft of its arguments."""

    request: ApprovalRequest
    terminal: Terminal
    draft: Draft
    clipped: bool = False

    def answer(self, typed: str) -> ApprovalAnswer | None:
        """Return what *typed* means; None asks again."""
        word, _, rest = typed.strip().partition(" ")
        word = word.casefold()
        if word in SHOW and not rest and self.clipped:
            self.terminal.write(question(self.request, self.terminal, limit=-1)[0])
            return None
        if word in EDIT and not rest:
            return self._edited()
        if word in YES + ALWAYS and not rest:
            return self._made(approved=True, always=word in ALWAYS)
        return self._made(approved=False, reason=_reason(word, rest, typed))

    def refusal(self, why: str = "") -> ApprovalAnswer:
        """Return a no."""
        return self._made(approved=False, reason=why)

    def _edited(self) -> ApprovalAnswer | None:
        arguments, problem = self.draft.edit()
        if arguments is None:
            self.terminal.write(f"{self.terminal.paint(problem, 'yellow')}\n")
            return None
        return self._made(approved=True, arguments=arguments)

    def _made(
        self,
        *,
        approved: bool,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
        always: bool = False,
    ) -> ApprovalAnswer:
        return ApprovalAnswer(
            self.request.id, self.request.digest, approved, reason, arguments, always
        )


def ask(request: ApprovalRequest, settings: Limits) -> ApprovalAnswer | None:
    """Put *request* to whoever sits at the terminal; None when there is none."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return None
    terminal = Terminal.of_process()
    asked = _Asked(request, terminal, Draft(request.call.arguments))
    try:
        with _line_mode(), _stoppable():
            text, asked.clipped = question(request, terminal, settings.preview_lines)
            terminal.write(text)
            for _ in range(MAX_QUESTIONS):
                answer = asked.answer(_typed(terminal, clipped=asked.clipped))
                if answer is not None:
                    return answer
        return asked.refusal("asked too often")
    except (_StoppedError, EOFError):
        terminal.write("\n")
        return asked.refusal()


def _reason(word: str, rest: str, typed: str) -> str:
    """Return what the model reads beside a no: what was typed, unless it began like a yes."""
    if word in NO:
        return rest.strip()
    if word in YES + ALWAYS + EDIT + SHOW or not typed.isprintable():
        return ""
    return typed.strip()


def _typed(terminal: Terminal, *, clipped: bool) -> str:
    """Return a line that was typed after the question appeared; raises EOFError."""
    more = "/s(how all)" if clipped else ""
    words = terminal.paint("Approve?", "bold")
    terminal.write(f"{words} [y/n/e(dit)/a(lways){more}] ")
    _forget_typed()
    descriptor = sys.stdin.fileno()
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES:
        # os.read goes on after a signal whose handler raised nothing; the wait is in select.
        select.select([descriptor], [], [])
        piece = os.read(descriptor, MAX_ANSWER_BYTES)
        if not piece:
            raise EOFError
        line += piece
    if b"\0" in line or line.count(b"\n") > 1:
        return "n"
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _forget_typed() -> None:
    """Take back what was typed before the question could be read."""
    import termios  # only terminals have it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def _line_mode() -> Iterator[None]:
    """Have the terminal edit and show a line and make signals of keys, whatever it did before."""
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    wanted = list(before)
    wanted[0] |= termios.ICRNL
    wanted[3] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ISIG
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, wanted)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let a signal end the question instead of the run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        handler = before[signal.Signals(number)]
        if number == signal.SIGTERM and callable(handler):
            handler(number, frame)
        raise _StoppedError

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
