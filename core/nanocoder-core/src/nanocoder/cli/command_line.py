"""What every command shares: from words to a command, errors to messages, and the way out."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NoReturn

from nanocoder.cli import INTERRUPTED
from nanocoder.cli.output import answers, complain
from nanocoder.errors import NanocoderError, PersonError

BROKEN = 1
NO_OUTPUT = 2
MACHINE_FORMS = ("json", "jsonl")


def run(words: Sequence[str]) -> int:
    """Run the command that *words* name and return its exit code.

    Every error is one message on stderr.
    """
    if _fill_closed_streams():
        complain("standard output is closed; use > /dev/null to throw the output away")
        return NO_OUTPUT
    _speak_utf8()
    try:
        command = _command_of(words)
        if getattr(_arguments_of(command), "output", "text") in MACHINE_FORMS:
            _keep_stdout()
        _collect_garbage()
        return command()
    except BrokenPipeError:
        _forget_stdout()
        return BROKEN
    except SystemExit as shown:  # argparse has printed its help
        return int(shown.code or 0)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a person gets a message, never a traceback
        return _failed(error)


def _command_of(words: Sequence[str]) -> Callable[[], int]:
    if list(words) in (["--help"], ["-h"]):
        from nanocoder.cli.help_text import print_help

        return print_help
    from nanocoder.cli.parser import command_of

    return command_of(words)


def _collect_garbage() -> None:
    """Turn the collector on again where the start turned it off; it leaves out what there is."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _failed(error: Exception) -> int:
    """Say what went wrong and return the exit code."""
    if isinstance(error, NanocoderError):
        complain(str(error))
        return error.exit_code if isinstance(error, PersonError) else BROKEN
    if isinstance(error, OSError):
        complain(f"the system refused: {error}")
        return BROKEN
    if os.environ.get("NANOCODER_DEBUG"):
        raise error
    complain(
        f"this is a bug in nanocoder: {type(error).__name__}: {error}"
        " (NANOCODER_DEBUG=1 shows where)"
    )
    return BROKEN


def _arguments_of(command: Callable[[], int]) -> object:
    """Return what the command line says of a command of ours; None of a plugin's."""
    return command.args[0] if isinstance(command, partial) and command.args else None


def _keep_stdout() -> None:
    """Keep standard output for JSON: what a plugin prints goes to standard error.

    `sys.__stdout__` is the only way to it from here on, for descriptor 1 is standard error, too.
    """
    own = os.dup(1)
    os.dup2(2, 1)
    sys.__stdout__ = open(own, "w", encoding="utf-8", errors="backslashreplace")  # type: ignore[misc]  # noqa: SIM115 - for good
    sys.stdout = sys.stderr


def leave(code: int) -> NoReturn:
    """Flush and leave: the interpreter's own way out costs time that nothing needs."""
    try:
        sys.stdout.flush()
        answers().flush()
    except BrokenPipeError:
        code = code or BROKEN
    except (OSError, ValueError) as error:
        complain(f"the output could not be written: {error}")
        code = code or BROKEN
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _fill_closed_streams() -> bool:
    """Open nothing where a standard stream is closed: a journal must not become descriptor 1.

    Returns whether standard output was closed.
    """
    closed = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            closed.append(descriptor)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
            setattr(sys, name, stream)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    return 1 in closed


def _speak_utf8() -> None:
    """Never fail over a character that the terminal's encoding lacks: show its escape."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _forget_stdout() -> None:
    """Point stdout at nothing, so that the flush on the way out does not fail again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
