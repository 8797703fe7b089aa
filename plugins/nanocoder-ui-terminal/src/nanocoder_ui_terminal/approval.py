"""The question whether a call may run. Each answer that is not a clear yes is a no."""

import os
import pwd
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from attrs import define, evolve
from nanocoder import ApprovalAnswer, ApprovalRequest, Cancel

from nanocoder_ui_terminal.editor import Draft
from nanocoder_ui_terminal.granting import (
    EXACT,
    NOT_GRANTED,
    UNKNOWN,
    choices,
    extent_lines,
    is_for_tool,
    parse_extent,
)
from nanocoder_ui_terminal.group import Decision, decide
from nanocoder_ui_terminal.hunks import Hunk, arguments_of, split
from nanocoder_ui_terminal.line_input import (
    ENTER,
    LeftError,
    StoppedError,
    in_line_mode,
    read_answer,
    read_key,
    read_line,
)
from nanocoder_ui_terminal.preview import add_bar, describe_request, message_rows, preview_lines
from nanocoder_ui_terminal.terminal import Terminal, is_terminal
from nanocoder_ui_terminal.text_lines import write_note

T = TypeVar("T")

ALONE: Final = (
    "another person has to approve this call, too, and a terminal has one person;"
    " `nanocoder web` gives each person a browser"
)
YES: Final = ("y", "yes")
NO: Final = ("n", "no")
EDIT: Final = ("e", "edit")
ALWAYS: Final = ("a", "always")
HUNKS: Final = ("h", "hunks")
SHOW: Final = ("s", "show")
QUIT: Final = ("q", "quit", "exit")
WHY: Final = ("r", "reason")
HELP: Final = ("?", "help")
BACK: Final = ("b", "back", *QUIT)
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
"""Words that sound like a yes but are not offered by the prompt: the question is put once more."""
UNCLEAR_NOTE: Final = "{!r} is neither yes nor no: type y to approve, n to refuse"
NOT_OFFERED: Final = "{!r} is not offered here; a reason to refuse needs n before it, or more words"
ALL_SHOWN: Final = "nothing is left out above"
MORE: Final = "[Space: next page; b: page before; q: back to the question]"
PAGE_KEYS: Final = {
    **dict.fromkeys((" ", "f", "j", *ENTER, "\x1b[B", "\x1b[6~"), 1),
    **dict.fromkeys(("b", "k", "\x1b[A", "\x1b[5~"), -1),
    **dict.fromkeys(("q", "Q"), 0),
}
"""Pages that a key goes on; 0 leads back to the question. Arrows and Page Up, Down, too."""
DEFAULT: Final = "(?: help)"
KEYS: Final = {
    "y": "approve",
    "n": "refuse; Esc does, too",
    "r": "refuse, and tell the model why",
    "e": "edit the arguments before the call runs",
    "h": "decide about each hunk of the change",
    "a": "approve, and more calls, too: the line above that begins with a says which",
    "s": "page through the whole preview",
    "q": "refuse, and end the run; Ctrl-C does, too",
}
MIN_PAGE: Final = 5
MAX_QUESTIONS: Final = 100
"""One request is put at most this often, since an edit may change nothing."""


class Limits(Protocol):
    """The setting that the question reads."""

    @property
    def preview_lines(self) -> int: ...  # noqa: D102


@define
class _OpenRequest:
    """One request on the terminal, with the draft of its arguments."""

    request: ApprovalRequest
    terminal: Terminal
    draft: Draft
    cancelled: Cancel
    deadline: float | None = None
    clipped: bool = False
    quits: bool = False
    was_unclear: bool = False
    why_not: str = ""
    sandbox: str | None = None

    def interpret(self, typed: str) -> ApprovalAnswer | None:
        """Parse the answer *typed*; None asks again."""
        word, _, rest = typed.strip().partition(" ")
        word = word.casefold()
        if not rest and (self._shows(word) or self._explains(word)):
            return None
        if word in EDIT + HUNKS and not rest and (word in EDIT or self.has_hunks):
            return self._edit() if word in EDIT else self._choose_hunks()
        may_grant = word in ALWAYS and bool(self.request.grants)
        if may_grant or (word in YES + ALWAYS and not rest):
            return self._grant(rest) if may_grant else self.agree(always=word in ALWAYS)
        if word in QUIT + WHY and not rest:
            self.quits = word in QUIT
            return self.refuse() if self.quits else self._refuse_with_reason()
        if not self.was_unclear and word in YES + ALWAYS + UNCLEAR and typed.isprintable():
            self.was_unclear = True
            write_note(UNCLEAR_NOTE.format(typed.strip()), self.terminal)
            return None
        return self._make_answer(approved=False, reason=_reason(word, rest, typed))

    @property
    def prompt(self) -> str:
        """The answers that the person may give."""
        hunks = "/h(unks)" if self.has_hunks else ""
        more = "/s(how all)" if self.clipped else ""
        return f"[y/n/e(dit){hunks}/a(lways){more}/q(uit)] {DEFAULT}"

    def _shows(self, word: str) -> bool:
        """Show all of the preview if *word* asks for that."""
        if word not in SHOW:
            return False
        if self.clipped:
            self._show_all()
        else:
            self.terminal.write(f"{self.terminal.paint(ALL_SHOWN, 'dim')}\n")
        return True

    def _explains(self, word: str) -> bool:
        """Explain the keys if *word* asks for that, or is a letter that is not among them."""
        keys = {
            key: meaning
            for key, meaning in KEYS.items()
            if (key != "h" or self.has_hunks) and (key != "s" or self.clipped)
        }
        is_stray = len(word) == 1 and word.isalpha() and word not in keys and word not in UNCLEAR
        if not is_stray and word not in HELP:
            return False
        terminal = self.terminal
        if is_stray:
            write_note(NOT_OFFERED.format(word), terminal)
        lines = [f"  {key}  {meaning}" for key, meaning in keys.items()]
        terminal.write(add_bar(message_rows(lines, terminal.width - 2), self.request, terminal))
        return True

    def refuse(self, why: str = "") -> ApprovalAnswer:
        """Return a no."""
        return self._make_answer(approved=False, reason=why)

    def _refuse_with_reason(self) -> ApprovalAnswer | None:
        why = self._read_inner("Why not?", "(Enter alone: back to the question)")
        return self.refuse(why) if why and why not in BACK else None

    def _show_all(self) -> None:
        """Show the whole preview, one page at a time."""
        lines = preview_lines(self.request, self.terminal)
        page = max(MIN_PAGE, self.terminal.size[1] - 2)
        start, step = 0, 1
        while step and start >= 0:  # before the first page is the question
            end = min(len(lines), start + page)
            self.terminal.write(add_bar(lines[start:end], self.request, self.terminal))
            if end == len(lines):
                break
            where = f"Lines {start + 1:,}-{end:,} of {len(lines):,}."
            step = self._read_page_key(where)
            start += step * page

    def _read_page_key(self, where: str) -> int:
        """Read a key and return the number of pages to go on, 0 to leave."""
        for _ in range(MAX_QUESTIONS):
            try:
                key = read_key(self.terminal, where, MORE, self.cancelled, self.deadline)
            except LeftError:
                return 0
            if key in PAGE_KEYS:
                return PAGE_KEYS[key]
        return 0

    def _read_inner(self, words: str, hint: str) -> str:
        """Return the answer to a question within this one, "q" for Esc, which leads back."""
        try:
            return read_line(self.terminal, words, hint, self.cancelled, self.deadline).strip()
        except LeftError:
            self.terminal.write("\n")
            return QUIT[0]

    @property
    def has_hunks(self) -> bool:
        """Return True if the change has several hunks that can be made without each other."""
        request = self.request
        hunks = split(request.preview)
        return len(hunks) > 1 and arguments_of(request.call.arguments, hunks, hunks[:1]) is not None

    def _choose_hunks(self) -> ApprovalAnswer | None:
        """Ask about each hunk; the arguments become those of the hunks that were accepted."""
        request, terminal = self.request, self.terminal
        hunks, accepted = split(request.preview), list[Hunk]()
        for number, hunk in enumerate(hunks, 1):
            text = "\n".join((*hunk.file, hunk.text))
            rows = preview_lines(evolve(request, preview=text), terminal)
            terminal.write(add_bar(["", *rows], request, terminal))
            words = f"Make hunk {number} of {len(hunks)}?"
            word = self._read_inner(words, "[y/n; else back to the question]").casefold()
            if word not in YES + NO:
                return None
            if word in YES:
                accepted.append(hunk)
        if not accepted:
            return self.refuse("every hunk was declined")
        if len(accepted) == len(hunks):
            return self.agree()
        arguments = arguments_of(request.call.arguments, hunks, accepted)
        numbers = [str(n) for n, hunk in enumerate(hunks, 1) if hunk not in accepted]
        left_out = f"hunk{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)} of {len(hunks)}"
        reason = f"who left out {left_out}"
        return self._make_answer(approved=True, reason=reason, arguments=arguments)

    def agree(self, **consent: Any) -> ApprovalAnswer:
        """Return a yes."""
        return self._make_answer(approved=True, **consent)

    def _grant(self, typed: str) -> ApprovalAnswer | None:
        """Grant the rules that the request offers, as far as *typed* says or the person chooses."""
        terminal, words = self.terminal, choices(self.request)
        if not typed:
            lines = message_rows(extent_lines(self.request), terminal.width - 2)
            terminal.write(add_bar(["", *lines], self.request, terminal))
            typed = self._read_inner("How far?", words)
        for _ in range(MAX_QUESTIONS):
            if extent := parse_extent(typed, for_tool=is_for_tool(self.request)):
                is_exact = extent.scope == EXACT
                scope = "" if is_exact else extent.scope
                ends = {"lasts_s": extent.lasts_s, "uses": extent.uses}
                return self.agree(always=is_exact, scope=scope, **ends)
            if not typed.strip() or typed.strip().casefold() in BACK:
                break
            write_note(UNKNOWN.format(typed.strip()), terminal)
            typed = self._read_inner("How far?", words)
        write_note(NOT_GRANTED, terminal)
        return None

    def _edit(self) -> ApprovalAnswer | None:
        arguments, problem = self.draft.edit(self.cancelled)
        if arguments is None:
            write_note(problem, self.terminal)
            return None
        return self.agree(arguments=arguments)

    def _make_answer(
        self,
        *,
        approved: bool,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
        **consent: Any,
    ) -> ApprovalAnswer:
        request = self.request
        consent["actor"] = login_name()
        return ApprovalAnswer(request.id, request.digest, approved, reason, arguments, **consent)


def login_name() -> str:
    """Return the name of the account that answers: the system's, which no variable can change."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # an account without an entry, as in many containers
        return f"uid {os.getuid()}"


def ask(
    request: ApprovalRequest, settings: Limits, cancelled: Cancel, sandbox: str | None = None
) -> ApprovalAnswer | None:
    """Put *request*, and those of its group, to the person; return None without a terminal.

    *sandbox* is what processes of tools run in, "" for none.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return None
    terminal = Terminal.of_process()
    if login_name().casefold() in map(str.casefold, request.approved_by):
        # Asking the same person again would look like a question that came twice.
        terminal.write(add_bar(message_rows([ALONE], terminal.width - 2), request, terminal))
        return ApprovalAnswer(request.id, request.digest, approved=False, reason=ALONE)
    requests = [evolve(request, group=()), *request.group]
    questions = [
        _OpenRequest(each, terminal, Draft(each.call.arguments), cancelled, sandbox=sandbox)
        for each in requests
    ]
    first, *rest = _answers(questions, settings)
    if any(question.quits for question in questions):
        signal.raise_signal(signal.SIGINT)  # it ends the run, as Ctrl-C does outside of a question
    return evolve(first, group=tuple(rest))


def _answers(questions: Sequence[_OpenRequest], settings: Limits) -> list[ApprovalAnswer]:
    """Ask about several calls at once, and about each of them alone if the person wants that."""
    first = questions[0]
    timeout_s = first.request.timeout_s
    until = time.monotonic() + timeout_s if timeout_s else None
    for question in questions:
        question.deadline = until
    if len(questions) > 1:
        requests = [question.request for question in questions]
        describe = partial(describe_request, terminal=first.terminal, sandbox=first.sandbox)
        work = partial(decide, requests, describe, first.terminal, first.cancelled, until)
        decision = _until_answered(first, work) or Decision("none")
        if decision.kind == "all":
            return [question.agree() for question in questions]
        if decision.kind != "one":
            first.quits = first.quits or decision.kind == "quit"
            return [question.refuse(decision.reason) for question in questions]
    return [_answer_of(question, questions, settings) for question in questions]


def _answer_of(
    question: _OpenRequest, questions: Sequence[_OpenRequest], settings: Limits
) -> ApprovalAnswer:
    if any(each.quits for each in questions):
        return question.refuse()
    if len(questions) > 1:
        question.terminal.write("\n")
    ask_alone = partial(_ask_alone, question, settings)
    return _until_answered(question, ask_alone) or question.refuse(question.why_not)


def _ask_alone(question: _OpenRequest, settings: Limits) -> ApprovalAnswer:
    request, terminal = question.request, question.terminal
    limit = settings.preview_lines
    text, question.clipped = describe_request(request, terminal, limit, question.sandbox)
    terminal.write(text)
    for _ in range(MAX_QUESTIONS):
        typed = read_answer(
            *(terminal, "Approve?", question.prompt, (*KEYS, "?")),
            *(question.cancelled, question.deadline),
        )
        answer = question.interpret(typed)
        if answer is not None:
            return answer
    return question.refuse("asked too often")


def _until_answered(question: _OpenRequest, work: Callable[[], T]) -> T | None:
    """Return the answer that *work* reads; None if the question ended without one."""
    terminal = question.terminal
    try:
        return in_line_mode(work)
    except TimeoutError:
        question.why_not = f"no answer came within {question.request.timeout_s:g} s"
        terminal.write(f"\n{terminal.paint(question.why_not, 'yellow')}\n")
    except StoppedError as left:
        is_left = isinstance(left, LeftError) or question.cancelled.is_set()
        question.quits = question.quits or not is_left
        terminal.write("\n")
    except EOFError:
        terminal.write("\n")
    return None


def _reason(word: str, rest: str, typed: str) -> str:
    """Return the reason that goes with a no: the typed text, unless it began like a yes."""
    if word in NO:
        return rest.strip()
    if word in YES + ALWAYS + UNCLEAR + EDIT + SHOW or not typed.isprintable():
        return ""
    return typed.strip()
