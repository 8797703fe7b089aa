"""Parse the command line, run the command, turn errors into messages, and exit."""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from nanocoder_config import cache_dir, own_folders, refusal
from nanocoder_console import CleanedStream, answers, complain
from nanocoder_schema import ConfigError, NanocoderError, PersonError

from nanocoder.version import VERSION

BROKEN, NO_OUTPUT, INTERRUPTED = 1, 2, 130
HELP_VARIABLES = ("COLUMNS", "FORCE_COLOR", "HOME", "NO_COLOR", "PYTHON_COLORS", "TERM")
HELP_FILES = ("config.toml", "plugins.json", "plugins.lock", "quarantine.json", "trusted.json")
NEW_OBJECTS = 5_000
"""The threshold of the garbage collector. Imports create many objects and drop few."""


def run(words: Sequence[str]) -> int:
    """Run the command that *words* name and return its exit code.

    Every error is one message on stderr.
    """
    if _fill_closed_streams():
        complain("standard output is closed; use > /dev/null to throw the output away")
        return NO_OUTPUT
    _escape_unencodable()
    try:
        return _run(words)
    except BrokenPipeError:
        # Standard output becomes /dev/null, so that the last flush does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN
    except SystemExit as shown:  # argparse has printed its help
        return int(shown.code or 0)
    except KeyboardInterrupt as error:
        complain(f"interrupted {error}".rstrip())
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a person gets a message, never a traceback
        return _report_failure(error)


def _run(words: Sequence[str]) -> int:
    if list(words) in (["--help"], ["-h"]):
        return print_help()
    from nanocoder.cli.dispatch import command_of
    from nanocoder.cli.host import MACHINE_FORMS, clean_early, clean_errors_by

    clean_errors_by(clean_early)
    command = command_of(words)
    if getattr(command.args[0], "output", "text") in MACHINE_FORMS:
        _reserve_stdout()
    if not gc.isenabled():  # disabled by the start; it skips the objects that exist now
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS)
        gc.enable()
    return command()


def _report_failure(error: Exception) -> int:
    """Report *error* on standard error and return its exit code."""
    if isinstance(error, NanocoderError):
        complain(str(error))
    elif isinstance(error, OSError):
        complain(f"the system refused: {error}")
    elif os.environ.get("NANOCODER_DEBUG"):
        raise error
    else:
        problem = f"{type(error).__name__}: {error}"
        complain(f"this is a bug in nanocoder: {problem} (NANOCODER_DEBUG=1 shows where)")
    return error.exit_code if isinstance(error, PersonError) else BROKEN


def _reserve_stdout() -> None:
    """Reserve standard output for JSON: prints of a plugin go to standard error.

    From here on only `sys.__stdout__` writes there; descriptor 1 is standard error, too.
    """
    own = os.dup(1)
    os.dup2(2, 1)
    sys.__stdout__ = open(own, "w", encoding="utf-8", errors="backslashreplace")  # type: ignore[misc]  # noqa: SIM115 - for good
    sys.stdout = sys.stderr


def leave(code: int) -> NoReturn:
    """Flush and exit without the interpreter's own shutdown, which takes time."""
    try:
        sys.stdout.flush()
        answers().flush()
    except (OSError, ValueError) as error:
        code = code or BROKEN
        if not isinstance(error, BrokenPipeError):
            complain(f"the output could not be written: {error}")
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _fill_closed_streams() -> bool:
    """Open /dev/null for each closed standard stream: a journal must not become descriptor 1.

    Returns true if standard output was closed.
    """
    closed = []
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            closed.append(descriptor)
        if getattr(sys, name) is None:
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
            setattr(sys, name, stream)
    return 1 in closed


def _escape_unencodable() -> None:
    """Escape characters that the terminal's encoding lacks instead of failing.

    Standard error becomes a stream that can redact secrets.
    """
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    binary = open(2, "wb", closefd=False)  # noqa: SIM115 - for good
    sys.stderr = CleanedStream(binary, sys.stderr.encoding, "backslashreplace", line_buffering=True)


def print_help() -> int:
    """Print `--help`, whose text is cached until one of its sources changes.

    Listing the commands of plugins needs the configuration and the manifest, which takes longer
    than the rest.
    """
    file: Path | None = None
    text = ""
    with suppress(ConfigError, OSError, ValueError):
        if not refusal(Path.cwd(), os.environ):  # else a project may control the cache
            file = cache_dir() / "help.txt"
            state, _, latest = file.read_text(encoding="utf-8").partition("\n")
            text = latest if state == _help_key() else ""
    sys.stdout.write(text or _build_help(file))
    return 0


def _build_help(file: Path | None) -> str:
    """Build the text and cache it."""
    from nanocoder.cli.commands import build
    from nanocoder.cli.host import Host

    commands, problem = Host().commands()
    text = build(commands).format_help()
    if file is not None and problem is None:
        from nanocoder_files import replace_file

        with suppress(OSError):
            replace_file(file, f"{_help_key()}\n{text}".encode())
    return text


def _help_key() -> str:
    """Return the cache key of the text, on one line.

    It has the variables and the terminal, the site directories, and the files that select the
    installed plugins. The manifest among them is rewritten when a plugin was edited.
    """
    size = ""
    with suppress(OSError, ValueError, AttributeError):
        size = str(os.get_terminal_size(sys.__stdout__.fileno()))  # type: ignore[union-attr]
    names = sorted(name for name in os.environ if name.startswith(("NANOCODER_", "XDG_")))
    variables = [(name, os.environ.get(name)) for name in (*HELP_VARIABLES, *names)]
    own = [f"{folder}/{name}" for folder in own_folders() for name in HELP_FILES]
    projects = [f"{folder}/.nanocoder/config.toml" for folder in Path("here").absolute().parents]
    paths = [*sys.path, *own, *projects]
    times = [(path, os.stat(path).st_mtime_ns) for path in paths if os.path.exists(path)]
    return repr((VERSION, sys.version, sys.prefix, os.getcwd(), size, variables, times))
