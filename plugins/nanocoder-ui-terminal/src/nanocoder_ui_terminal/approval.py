"""The question whether a call may run. Everything that is not a clear yes is a no."""

import signal
import sys
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

from attrs import define
from nanocoder import ApprovalAnswer, ApprovalRequest, Cancel, for_terminal

from nanocoder_ui_terminal.answering import StoppedError, line_mode, read_line
from nanocoder_ui_terminal.editor import Draft
from nanocoder_ui_terminal.preview import barred, preview_lines, question
from nanocoder_ui_terminal.terminal import Terminal, is_terminal

YES: Final = ("y", "yes")
NO: Final = ("n", "no")
EDIT: Final = ("e", "edit")
ALWAYS: Final = ("a", "always")
SHOW: Final = ("s", "show")
QUIT: Final = ("q", "quit", "exit")
UNCLEAR: Final = (
    "ok",
    "okay",
    "k",
    "sure",
    "fine",
    "go",
    "yep",
    "yeah",
    "yup",
    "approve",
    "approved",
)
"""What sounds like a yes and is none of the words of the prompt: it is asked again, once."""
UNCLEAR_NOTE: Final = "{!r} is neither yes nor no: type y to approve, n to refuse"
ALL_SHOWN: Final = "nothing is left out above"
MORE: Final = "[Enter: next page, b(ack)]"
MIN_PAGE: Final = 5
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
    deadline: float | None = None
    clipped: bool = False
    quits: bool = False
    was_unclear: bool = False

    def answer(self, typed: str) -> ApprovalAnswer | None:
        """Return what *typed* means; None asks again."""
        word, _, rest = typed.strip().partition(" ")
        word = word.casefold()
        if word in SHOW and not rest:
            if self.clipped:
                self._show_all()
            else:
                self.terminal.write(f"{self.terminal.paint(ALL_SHOWN, 'dim')}\n")
            return None
        if word in EDIT and not rest:
            return self._edited()
        if word in YES + ALWAYS and not rest:
            return self._made(approved=True, always=word in ALWAYS)
        if word in QUIT and not rest:
            self.quits = True
            return self.refusal()
        if not self.was_unclear and word in YES + ALWAYS + UNCLEAR and typed.isprintable():
            self.was_unclear = True
            said = for_terminal(typed.strip())
            self.terminal.write(f"{self.terminal.paint(UNCLEAR_NOTE.format(said), 'yellow')}\n")
            return None
        return self._made(approved=False, reason=_reason(word, rest, typed))

    @property
    def prompt(self) -> str:
        """What may be answered."""
        return f"[y/n/e(dit)/a(lways){'/s(how all)' if self.clipped else ''}/q(uit)]"

    def refusal(self, why: str = "") -> ApprovalAnswer:
        """Return a no."""
        return self._made(approved=False, reason=why)

    def _show_all(self) -> None:
        """Show the whole preview, one page at a time."""
        lines = preview_lines(self.request, self.terminal)
        page = max(MIN_PAGE, self.terminal.size[1] - 2)
        for start in range(0, len(lines), page):
            end = min(len(lines), start + page)
            self.terminal.write(barred(lines[start:end], self.request, self.terminal))
            if end < len(lines):
                where = f"Lines {start + 1:,}-{end:,} of {len(lines):,}."
                typed = read_line(self.terminal, where, MORE, self.cancelled, self.deadline)
                if typed.strip():
                    break

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
    asked.deadline = time.monotonic() + request.timeout_s if request.timeout_s else None
    try:
        with line_mode():
            text, asked.clipped = question(request, terminal, settings.preview_lines)
            terminal.write(text)
            for _ in range(MAX_QUESTIONS):
                typed = read_line(
                    terminal, "Approve?", asked.prompt, asked.cancelled, asked.deadline
                )
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
    if word in YES + ALWAYS + UNCLEAR + EDIT + SHOW or not typed.isprintable():
        return ""
    return typed.strip()
