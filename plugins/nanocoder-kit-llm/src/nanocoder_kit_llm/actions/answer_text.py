"""Read an answer while it arrives: the text of `{"action": "answer", "text": "…"}`."""

import json
import re
from typing import Final

from nanocoder_kit_llm.actions.actions import ACTION, TEXT

_WHOLE: Final = re.compile(
    r"""(?:[^"\\]|\\["\\/bfnrt]
        |\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
        |\\u[dD][89abAB][0-9a-fA-F]{2}(?=[^\\]|\\[^u]|\\u[0-9a-fA-F]{4})
        |\\u(?![dD][89abAB])[0-9a-fA-F]{4})*""",
    re.VERBOSE,
)
"""Pattern of complete characters of a JSON string, up to a partial escape."""


class AnswerText:
    """Collects a reply and returns new text of an answer; a call has none."""

    def __init__(self, *endings: str) -> None:
        names = "|".join(map(re.escape, endings))
        self._start = re.compile(rf'\s*\{{\s*"{ACTION}"\s*:\s*"(?:{names})"\s*,\s*"{TEXT}"\s*:\s*"')
        self._buffer = ""
        self._text = ""
        self._open: int | None = None

    @property
    def reply(self) -> str:
        """The reply so far."""
        return self._buffer

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return self._text

    def feed(self, piece: str) -> str:
        """Add *piece* of the reply; return the text that it adds to the answer, often nothing."""
        self._buffer += piece
        if self._open is None:
            start = self._start.match(self._buffer)
            if start is None:
                return ""
            self._open = start.end()
        return self._take(self._open)

    def _take(self, start: int) -> str:
        characters = _WHOLE.match(self._buffer, start)
        if characters is None or characters.end() == start:
            return ""
        self._open = characters.end()
        new = _decode(characters.group())
        self._text += new
        return new


def _decode(body: str) -> str:
    """Read the inside of a JSON string; a lone surrogate becomes the replacement character."""
    text = str(json.loads(f'"{body}"', strict=False))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
