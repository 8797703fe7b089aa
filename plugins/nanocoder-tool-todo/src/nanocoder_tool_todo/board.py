"""The store of one session's tasks: TODO.md in the session's own folder, or memory."""

import threading
from pathlib import Path

from nanocoder import ToolError
from nanocoder_files import replace_file

NAME = "TODO.md"
MAX_BYTES = 1_000_000


class Board:
    """The text of one session's TODO.md; always complete, for threads and processes.

    *folder* is None for a session that is not saved; then the text lives as long as the board.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / NAME
        self._text: str | None = None
        self._lock = threading.Lock()

    def read(self) -> str | None:
        """Return the text, or None before the first write; raises ToolError."""
        if self.path is None:
            return self._text
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _fault("read", self.path, error) from error
        if len(data) > MAX_BYTES:
            raise ToolError(
                f"{self.path} is larger than {MAX_BYTES:,} bytes; write the list again",
                error_class="too_large",
            )
        return data.decode("utf-8", "replace")

    def write(self, text: str) -> None:
        """Replace the text; raises ToolError."""
        with self._lock:
            if self.path is None:
                self._text = text
                return
            try:
                # Replaced, never rewritten: readers see either the old list or the new one.
                replace_file(self.path, text.encode("utf-8", "replace"))
            except OSError as error:
                raise _fault("write", self.path, error) from error


def _fault(verb: str, path: Path, error: OSError) -> ToolError:
    return ToolError(f"cannot {verb} {path}: {error.strerror or error}", error_class="io_error")
