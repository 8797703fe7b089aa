"""A process that imports plugins, and reports the files, hosts and programs that they use."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from attrs import frozen
from nanocoder import one_line
from nanocoder_kit_process import environment
from nanocoder_kit_process.capabilities import Package

from nanocoder_command_author.watcher import CODE, END

IMPORT_S: Final = 60.0
MAX_REPORT_BYTES: Final = 1_000_000
TEXT_CHARS: Final = 120


@frozen
class Deed:
    """An act of a package at its import; *capability* is "" for a failed import."""

    capability: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.capability})" if self.capability else self.text


def deeds_at_import(package: Package, timeout_s: float = IMPORT_S) -> list[Deed]:
    """Import the modules of *package* in a process of its own, and return their acts.

    The process has no keys, and works in an empty folder; nothing is prevented.
    """
    nonce = secrets.token_hex(16).encode()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as report:
        problem = _watch(package, Path(folder), report, nonce, timeout_s)
        report.seek(0)
        lines = report.read(MAX_REPORT_BYTES).splitlines()
    reported = [line.removeprefix(nonce) for line in lines if line.startswith(nonce)]
    deeds = list(_deeds(reported))
    if not problem and len(reported) < len(lines):
        problem = "its import wrote to the report of what it does"
    if not problem and json.dumps(END).encode() not in reported:
        problem = "its import ended the process, or the report of what it does"
    return [*deeds, Deed("", problem)] if problem else deeds


def _watch(package: Package, folder: Path, report: BinaryIO, nonce: bytes, timeout_s: float) -> str:
    """Run the process that writes *report*, and return its problem, or ""."""
    command = [sys.executable, "-P", "-c", CODE, *package.plugins]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(os.environ, workspace=folder),
        stdin=subprocess.PIPE,
        stdout=report,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.communicate(nonce, timeout_s)
    except subprocess.TimeoutExpired:
        return f"its import took more than {timeout_s:g} s"
    finally:
        with suppress(ProcessLookupError):  # its children end with it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return ""


def _deeds(lines: list[bytes]) -> Iterator[Deed]:
    for line in lines:
        with suppress(ValueError, TypeError):  # the line at the end
            capability, file, number, text = json.loads(line)
            location = f"{file}:{number}" if number else file
            yield Deed(str(capability), f"{location} {one_line(text, TEXT_CHARS)} at import")
