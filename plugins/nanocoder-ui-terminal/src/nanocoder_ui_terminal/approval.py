"""The question whether a call may run. Everything that is not a clear yes is a no."""

import signal
import sys
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

from attrs import define
from nanocoder import ApprovalAnswer, ApprovalRequest, Cancel

from nanocoder_ui_terminal.answering import StoppedError, line_mode, read_line
from nanocoder_ui_terminal.editor import Draft
from nanocoder_ui_terminal.preview import question
from nanocoder_ui_terminal.terminal import Terminal, is_terminal

YES: Final = ("y", "yes")
NO: Final = ("n", "no")
EDIT: Final = ("e", "edit")
ALWAYS: Final = ("a", "always")
SHOW: Final = ("s", "show")
QUIT: Final = ("q", "quit", "exit")
MAX_QUESTIONS: Final = 100
"""How often one request is put again, after edits that came to nothing."""


class Limits(Protocol):
    """The setting that the question looks at."""

    @property
    def preview_lines(self) -> int: ...  # noqa: D102


@define
class _Asked:
    """One request on the terminal, with the draft of its arguments."""

    request: ApprovalRequest
    terminal: Terminal
    draft: Draft
    cancelled: Cancel
    clipped: bool = False
    quits: bool = False

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
        if word in QUIT and not rest:
            self.quits = True
            return self.refusal()
        return self._made(approved=False, reason=_reason(word, rest, typed))

    @property
    def prompt(self) -> str:
        """What may be answered."""
        return f"[y/n/e(dit)/a(lways){'/s(how all)' if self.clipped else ''}/q(uit)]"

    def refusal(self, why: str = "") -> ApprovalAnswer:
        """Return a no."""
        return self._made(approved=False, reason=why)

    def _edited(self) -> ApprovalAnswer | None:
        arguments, problem = self.draft.edit(self.cancelled)
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


def ask(request: ApprovalRequest, settings: Limits, cancelled: Cancel) -> ApprovalAnswer | None:
    """Put *request* to whoever sits at the terminal; None when there is none."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return None
    terminal = Terminal.of_process()
    asked = _Asked(request, terminal, Draft(request.call.arguments), cancelled)
    answer = _answered(asked, settings)
    if asked.quits:
        signal.raise_signal(signal.SIGINT)  # ends what Ctrl-C would end without the question
    return answer


def _answered(asked: _Asked, settings: Limits) -> ApprovalAnswer:
    request, terminal = asked.request, asked.terminal
    deadline = time.monotonic() + request.timeout_s if request.timeout_s else None
    try:
        with line_mode():
            text, asked.clipped = question(request, terminal, settings.preview_lines)
            terminal.write(text)
            for _ in range(MAX_QUESTIONS):
                typed = read_line(terminal, "Approve?", asked.prompt, asked.cancelled, deadline)
                answer = asked.answer(typed)
                if answer is not None:
                    return answer
        return asked.refusal("asked too often")
    except TimeoutError:
        why = f"nobody answered within {request.timeout_s:g} s"
        terminal.write(f"\n{terminal.paint(why, 'yellow')}\n")
        return asked.refusal(why)
    except (StoppedError, EOFError):
        terminal.write("\n")
        return asked.refusal()


def _reason(word: str, rest: str, typed: str) -> str:
    """Return what the model reads beside a no: what was typed, unless it began like a yes."""
    if word in NO:
        return rest.strip()
    if word in YES + ALWAYS + EDIT + SHOW or not typed.isprintable():
        return ""
    return typed.strip()
