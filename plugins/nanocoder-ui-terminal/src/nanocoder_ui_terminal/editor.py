"""Arguments in the person's own editor, in a file that only its owner can read."""

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import BadArguments, Cancel, for_terminal

from nanocoder_ui_terminal import argument_text

DEFAULT_EDITOR: Final = "vi"
MAX_BYTES: Final = 8_388_608


class Draft:
    """The arguments of one call while they are edited; a broken text stays for the next try."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = dict(arguments)
        self._text = argument_text.format_arguments(self._arguments)

    def edit(self, cancelled: Cancel) -> tuple[dict[str, Any] | None, str]:
        """Open the editor; return the new arguments, or None and the problem.

        The editor is ended when *cancelled* is set.
        """
        try:
            self._text = _edit_text(self._text, cancelled)
            values = argument_text.parse_arguments(self._text)
        except BadArguments as error:
            return None, f"not JSON, nothing is changed: {for_terminal(str(error))}"
        except (OSError, ValueError) as error:
            return None, f"the editor did not work: {for_terminal(str(error))}"
        if not isinstance(values, dict):
            return None, "the arguments must be a JSON object; nothing is changed"
        if values == self._arguments:
            return None, "nothing was changed"
        return values, ""


def _edit_text(text: str, cancelled: Cancel) -> str:
    """Return *text* as the editor left it; raises OSError, ValueError."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or DEFAULT_EDITOR
    words = shlex.split(editor)
    if not words:
        raise ValueError("VISUAL and EDITOR name none")
    with tempfile.TemporaryDirectory(prefix="nanocoder-") as folder:
        path = Path(folder, "arguments.json")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        status = _run([*words, str(path)], cancelled)
        if status:
            raise ValueError(f"{words[0]} ended with {status}")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"the arguments are longer than {MAX_BYTES:,} bytes")
        return path.read_text(encoding="utf-8")


def _run(argv: list[str], cancelled: Cancel) -> int:
    """Run the editor; Ctrl-C is for the editor meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return _wait(argv, cancelled)
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        return _wait(argv, cancelled)
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(argv: list[str], cancelled: Cancel) -> int:
    with subprocess.Popen(argv) as editor:
        forget = cancelled.on_set(editor.terminate)
        try:
            return editor.wait()
        finally:
            forget()
