"""The command `chat`: read what the person types, act on it, until they leave."""

from argparse import Namespace
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanocoder import Host, Mode, PersonError, UsageError, __version__, for_terminal, state_dir
from nanocoder_kit_sessions import remove_old, session_store
from nanocoder_kit_ui.chat import (
    Completions,
    Conversation,
    Next,
    Typed,
    converse,
    respond,
    use_chat_commands,
)

from nanocoder_ui_terminal.display import TerminalDisplay
from nanocoder_ui_terminal.first_keys import LINE_BYTES, FirstKeys, keys_that_wait
from nanocoder_ui_terminal.last_exchange import last_exchange
from nanocoder_ui_terminal.terminal import Terminal, columns_of, cut
from nanocoder_ui_terminal.text_lines import one_line, prompt_lines

if TYPE_CHECKING:
    from nanocoder_ui_terminal.prompt_input import PromptInput

PLUGIN: Final = "ui-terminal"
CUT: Final = (
    f"the terminal has cut a line at {LINE_BYTES:,} bytes that was pasted before the prompt was"
    " there; paste it again"
)
NO_TERMINAL: Final = 'a conversation needs a terminal; without one: nanocoder run "PROMPT"'
MODEL_COLUMNS: Final = 40
UP: Final = "\x1b[A"
CYCLE: Final = (Mode.PLAN, Mode.ASK, Mode.EDITS)
"""Shift-Tab goes through these; the mode that asks for nothing has to be typed."""


def run(arguments: Namespace, host: Host, typed: FirstKeys) -> int:
    """Talk until the person leaves, in the session `resume`, beginning with `prompt`.

    *typed* is what was typed before there was a prompt.
    """
    if not host.is_interactive:
        raise UsageError(NO_TERMINAL)
    with suppress(UsageError):  # of a store of another kind, or of none
        remove_old(session_store(host), host.config.core.keep_sessions_days, host.say)
    return _talk(host, arguments.resume, arguments.prompt, typed)


def _talk(host: Host, resume: str, first: str, typed: FirstKeys) -> int:
    """Hold one conversation after the other; return the exit code."""
    settings = host.plugins.settings(PLUGIN)
    terminal = Terminal.of_process()
    current = ""
    conversation: Conversation | None = None
    while True:
        try:
            with host.session(interactive=True, output="text", resume=resume) as session:
                current = session.id
                display = TerminalDisplay(session, terminal, settings)
                before, conversation = conversation, converse(host, session, display)
                if before is None:
                    for piece in typed.pieces:
                        display.queue.feed(piece)
                    conversation.ended_well = True
                    if typed.is_cut:
                        display.warn(CUT)
                with host.signals.obeyed_by(conversation.obey):
                    following = Chat(conversation, display, settings).run(first, before)
        except EndedError:
            return int(host.signals.exit_code)
        except PersonError as error:
            if conversation is None or resume == current:
                raise
            conversation.display.warn(use_chat_commands(str(error)))
            following = Next(current)
        if following.resume is None:
            return 0
        resume, first = following.resume, ""


class EndedError(Exception):
    """A signal ends the conversation."""


class Chat:
    """Reads prompts and commands for one conversation."""

    def __init__(self, conversation: Conversation, display: TerminalDisplay, settings: Any) -> None:
        self._conversation = conversation
        self._display = display
        self._host = conversation.host
        self._session = conversation.session
        self._terminal = display.terminal
        self._keeps_history = settings.history
        self._waits_for_enter = False

    @cached_property
    def _input(self) -> "PromptInput":
        from nanocoder_ui_terminal.completion import ChatCompleter  # slow: after the first picture
        from nanocoder_ui_terminal.prompt_input import PromptInput

        return PromptInput(
            ChatCompleter(Completions(self._conversation)),
            self._history() if self._keeps_history and self._is_kept else None,
            self._toolbar,
            self._next_mode,
            self._terminal.sign("prompt"),
            self._conversation.leaving,
            self._conversation.show_output,
            moves=self._terminal.moves,
        )

    def run(self, first: str = "", before: Conversation | None = None) -> Next:
        """Go on until the person chooses another session, or leaves.

        Mode and model stay as the person set them in the session *before*.
        """
        if self._host.signals.number:  # before the first prompt Ctrl-C leaves, too
            raise EndedError
        if before is not None:
            self._conversation.take_over(before)
        self._greet()
        self._conversation.say_notices()
        typed = Typed(first) if first else self._read()
        while typed is not None:
            following = respond(self._conversation, typed)
            if following is not None:
                break
            for sent in self._display.take_sent():
                self._input.remember(sent)
            typed = self._read()
        else:
            following = Next(None)
        if following.resume is None:
            self._say_way_back()
        return following

    def _say_way_back(self) -> None:
        if self._is_kept and self._session.messages:
            mode = self._session.info.mode
            # A mode is a permission, so a resumed session does not keep it by itself.
            is_usual = mode is Mode.ASK is self._session.config.core.mode
            option = "" if is_usual else f" --mode {mode}"
            # Nor does it keep a profile, which may hold more back than the mode.
            profile = self._host.flags.get("profile", "")
            before = f" --profile {profile}" if profile else ""
            way = f"To resume: nanocoder{before} sessions resume {self._session.id}{option}"
            self._terminal.write(f"{self._terminal.paint(way, 'dim')}\n")

    def _raise_if_interrupted(self) -> None:
        if self._host.signals.forget_interrupts():
            raise EndedError

    def _read(self) -> Typed | None:
        self._raise_if_interrupted()
        queue = self._display.queue
        is_free = self._conversation.ended_well and not self._waits_for_enter
        typed = queue.next() if is_free else None
        if typed is not None:
            self._display.show_lines(prompt_lines(typed.text, self._terminal))
            self._input.remember(typed)
            return typed
        try:
            begun = queue.take()
            waiting = queue.lines(self._terminal)
            # What was queued before an interrupt does not run by itself after it.
            self._waits_for_enter = bool(waiting)
            if waiting:
                self._display.show_lines(waiting)
            with keys_that_wait():
                self._draw_prompt()
                prompt = self._input
            typed = prompt.read(begun)
        except EOFError:
            self._raise_if_interrupted()
            return None
        self._terminal.write("\n")
        return typed

    def _greet(self) -> None:
        paint, dot = self._terminal.paint, f" {self._terminal.sign('dot')} "
        where = for_terminal(_shorten(self._session.info.cwd))
        name = paint("nanocoder", "bold")
        self._terminal.write(f"{name} {paint(__version__ + dot + where, 'dim')}\n")
        if self._session.messages:
            self._conversation.find_model()
            lines = last_exchange(self._session.messages, self._terminal)
            self._display.show_lines(["", *lines])
            return
        self._display.say(f"/help lists commands and keys{dot}Ctrl-D leaves")
        self._conversation.greet()

    def _draw_prompt(self) -> None:
        """Draw what the prompt will draw over: the first one takes a while to load."""
        if not self._terminal.moves:
            return
        sign = self._terminal.paint(self._terminal.sign("prompt"), "cyan", "bold")
        status = self._terminal.paint(cut(self._toolbar(), self._terminal.width), "dim")
        self._terminal.write(f"{sign}\n{status}\r{UP}")

    def _toolbar(self) -> str:
        model = one_line(self._conversation.model, MODEL_COLUMNS)
        words = [str(self._session.info.mode), model or "no model"]
        if self._conversation.context:
            words.append(f"{self._conversation.context:,} tokens")
        if self._conversation.usage.cost:
            words.append(f"${self._conversation.usage.cost:.4f}")
        dot = f" {self._terminal.sign('dot')} "
        # Half a number would be a wrong one.
        while len(words) > 1 and columns_of(dot.join(words)) > self._terminal.width:
            words.pop()
        return dot.join(words)

    def _next_mode(self) -> None:
        mode = self._session.info.mode
        place = CYCLE.index(mode) + 1 if mode in CYCLE else 0
        self._session.set_mode(CYCLE[place % len(CYCLE)])

    @property
    def _is_kept(self) -> bool:
        return self._session.info.folder is not None

    def _history(self) -> Path | None:
        try:
            folder = state_dir()
        except PersonError:
            return None
        return folder / "history"


def _shorten(path: Path) -> str:
    home = Path.home()
    return (
        f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)
    )
