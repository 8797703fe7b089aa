"""Prompts typed while the model works: shown below the run, and sent after it."""

import codecs
import re
from collections.abc import Callable
from typing import Final

from nanocoder_kit_ui.chat import Typed

from nanocoder_ui_terminal import first_keys
from nanocoder_ui_terminal.pastes import Pastes
from nanocoder_ui_terminal.terminal import Terminal, columns_of, cut
from nanocoder_ui_terminal.text_lines import clean, one_line

MAX_SHOWN: Final = 3
QUEUED: Final = "queued: "
PASTE_BEGINS: Final = first_keys.PASTE_BEGINS.decode()
PASTE_ENDS: Final = first_keys.PASTE_ENDS.decode()
KEY: Final = re.compile(
    r"\x1b\[200~(?P<pasted>.*?)\x1b\[201~|\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b?.", re.DOTALL
)
UNFINISHED: Final = re.compile(r"\x1b(?:O|\[[0-?]*[ -/]*)?\Z")
"""The beginning of a key that is sent as several characters."""
ENTER: Final = "\r"
NEW_LINE: Final = ("\n", "\x1b\r", "\x1b\n")
BACKSPACE: Final = ("\x7f", "\x08")
CLEAR_LINE: Final = "\x15"
ERASE_WORD: Final = ("\x17", "\x1b\x7f")
LAST_WORD: Final = re.compile(r"\S*\s*\Z")
UP: Final = ("\x1b[A", "\x1bOA")
EXPAND: Final = "\x0f"
TAB: Final = "\t"
ESCAPE: Final = "\x1b"
STEERING: Final = "sent next: "
HINT: Final = "Enter sends it with the next request{dot}Tab queues it for after the run"
COMMANDS: Final = ("/", "!")
"""A line that begins like this is for us and not for the model, so it waits for the end."""


class PromptQueue:
    """Prompts that wait for the end of a run, and the line that is being typed.

    Enter gives the line to *steer*, which sends it to the working model, or queues it where that is
    None; Tab always queues it. On an empty line Backspace and Up bring the last queued prompt back.
    Escape alone calls *stop*.
    Ctrl-O says whether the output of running calls is wanted at length (*is_expanded*).
    """

    def __init__(self) -> None:
        self.steer: Callable[[str], object] | None = None
        self.stop: Callable[[], object] | None = None
        self._queue: list[Typed] = []
        self._steering: list[Typed] = []
        self._sent: list[Typed] = []
        self._line = ""
        self.is_expanded = False
        self._pastes = Pastes()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unread = ""

    def feed(self, data: bytes) -> None:
        """Process bytes from the keyboard."""
        text = self._decoder.decode(data)
        # An Escape alone begins no key when another character follows it later.
        text = text if self._unread == "\x1b" and text[:1] not in "[O" else self._unread + text
        self._unread = ""
        paste_start = text.rfind(PASTE_BEGINS)
        if paste_start >= 0 and PASTE_ENDS not in text[paste_start:]:
            text, self._unread = text[:paste_start], text[paste_start:]
        elif unfinished := UNFINISHED.search(text):
            text, self._unread = text[: unfinished.start()], unfinished[0]
        for key in KEY.finditer(text):
            if key["pasted"] is not None:
                self._line += self._pastes.put(key["pasted"])
            elif key[0] == ENTER and text[key.end() :] and text[key.end()].isprintable():
                # Nobody types on at once: it is a paste, in a terminal that does not mark it.
                self._press(NEW_LINE[0])
            else:
                self._press(key[0])

    def note_quiet(self) -> None:
        """Take note that no key follows: an Escape that waits for one was pressed alone."""
        if self._unread == ESCAPE:
            self._unread = ""
            if self.stop is not None:
                self.stop()

    def note_sent(self) -> None:
        """Take note that the line that was given first to *steer* was sent."""
        if self._steering:
            self._sent.append(self._steering.pop(0))

    def end_steering(self) -> list[Typed]:
        """Queue the lines that were not sent, and return the others; the run is over."""
        self.steer = self.stop = None
        self._queue[:0] = self._steering
        self._steering.clear()
        sent, self._sent = self._sent, []
        return sent

    def next(self) -> Typed | None:
        """Remove and return the prompt that was queued first."""
        return self._queue.pop(0) if self._queue else None

    def take(self) -> Typed:
        """Remove and return what is queued or half typed, up to the first command, as one text.

        A command that stands first is returned alone: within a prompt the model would get it.
        """
        if self._line:
            self._queue.append(self._take_line())
        is_command = [typed.text.startswith(COMMANDS) for typed in self._queue]
        end = max(1, is_command.index(True)) if True in is_command else len(is_command)
        prompts, self._queue = self._queue[:end], self._queue[end:]
        return Typed(
            "\n".join(typed.text for typed in prompts),
            tuple(part for typed in prompts for part in typed.pasted),
        )

    def begin(self, text: str) -> None:
        """Put *text* into the line that is being typed."""
        self._line = text

    @property
    def is_typing(self) -> bool:
        """Return True if the person has begun a line: the cursor belongs behind it."""
        return bool(self._line)

    def lines(self, terminal: Terminal) -> list[str]:
        """Return the queue as lines; the last is the one that is being typed."""
        room = terminal.width - len(QUEUED)
        lines = [f"{STEERING}{one_line(typed.text, room)}" for typed in self._steering]
        lines += [f"{QUEUED}{one_line(typed.text, room)}" for typed in self._queue[:MAX_SHOWN]]
        if len(self._queue) > MAX_SHOWN:
            lines.append(f"{terminal.sign('more')} {len(self._queue) - MAX_SHOWN} more queued")
        if self._line and self.steer is not None:
            lines.append(HINT.format(dot=f" {terminal.sign('dot')} "))
        lines = [terminal.paint(cut(line, terminal.width), "dim") for line in lines]
        if self._line:
            sign = terminal.paint(terminal.sign("prompt"), "cyan", "bold")
            lines.append(f"{sign} {_visible_end(self._line, terminal)}")
        return lines

    def _press(self, key: str) -> None:
        if key in (ENTER, TAB):
            self._enter(steers=key == ENTER)
        elif key in NEW_LINE:
            self._line += "\n"
        elif not self._line and key in (*BACKSPACE, *UP) and self._queue:
            self._line = self._pastes.put_back(self._queue.pop())
        elif key in BACKSPACE:
            self._line = self._line[:-1]
        elif key == EXPAND:
            self.is_expanded = not self.is_expanded
        elif key == CLEAR_LINE:
            self._line = ""
        elif key in ERASE_WORD:
            self._line = LAST_WORD.sub("", self._line)
        elif key.isprintable():
            self._line += key

    def _enter(self, *, steers: bool) -> None:
        if self._line.endswith("\\"):
            self._line = f"{self._line[:-1]}\n"
        elif self._line.strip():
            typed = self._take_line()
            if steers and self.steer is not None and not typed.text.startswith(COMMANDS):
                self._steering.append(typed)
                self.steer(typed.text)
            else:
                self._queue.append(typed)

    def _take_line(self) -> Typed:
        typed = self._pastes.typed(self._line)
        self._pastes.clear()
        self._line = ""
        return typed


def _visible_end(line: str, terminal: Terminal) -> str:
    """Return the end of a line, where the cursor is, as far as it fits."""
    room = terminal.width - 3
    text = clean(line[-4 * room :].replace("\n", " "))
    if columns_of(text) <= room and len(line) <= 4 * room:
        return text
    while columns_of(text) >= room:
        text = text[1:]
    return f"{terminal.sign('more')[0]}{text}"
