"""A program that prints a key, such as that of a password manager."""

import os
import subprocess
import threading
from functools import cache
from pathlib import Path
from typing import Final

from nanocoder import ConfigError, one_line
from nanocoder_kit_process import environment, find_program

KEY_COMMAND: Final = "key_command"
TIMEOUT_S: Final = 60.0
"""Seconds; a password manager may have to ask the user first."""
SHOWN_COLUMNS: Final = 300


class KeyCommand:
    """Runs *argv* when its key is first needed, and again after a server rejected the key."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv = argv
        self._lock = threading.Lock()
        self._key: str | None = None

    def read(self) -> str:
        """Return the first line that the program prints; raises ConfigError if it prints none."""
        with self._lock:
            if self._key is None:
                self._key = self._run()
            return self._key

    def forget(self) -> None:
        """Drop the key, so that the next `read` runs the program again."""
        with self._lock:
            self._key = None

    def _run(self) -> str:
        try:
            # The user's program inherits their environment, except variables that load code.
            ran = subprocess.run(
                [self._program(), *self._argv[1:]],
                cwd="/",  # a shim of a version manager obeys files of the folder that it starts in
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment(os.environ, tuple(os.environ)),
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._error(f"did not end within {TIMEOUT_S:g} s") from None
        except OSError as error:
            raise self._error(f"did not start: {error.strerror}") from error
        if ran.returncode:
            complaint = one_line(ran.stderr.decode("utf-8", "replace"), SHOWN_COLUMNS)
            raise self._error(f"failed with exit code {ran.returncode}: {complaint or 'no reason'}")
        lines = ran.stdout.decode("utf-8", "replace").splitlines()
        if not lines or not lines[0].strip():
            raise self._error("printed no key")
        return lines[0].strip()

    def _program(self) -> str:
        name = self._argv[0]
        if "/" in name and not name.startswith("/"):
            raise self._error("is a relative path; name a program on PATH, or an absolute path")
        program = find_program(name, os.environ.get("PATH", ""), Path.cwd())
        if not program:
            raise self._error("is not on PATH; a program in the workspace is not used")
        return program

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(f"{KEY_COMMAND}: {self._argv[0]!r} {problem}")


@cache
def key_command_of(argv: tuple[str, ...]) -> KeyCommand:
    """Return the command of *argv*: all sessions of a process share its key."""
    return KeyCommand(argv)
