"""Pasted text: told apart from typed text, and folded until it is sent."""

from typing import Final

from nanocoder_kit_ui.chat import Typed

FOLDED_LINES: Final = 20
FOLDED_CHARS: Final = 2_000


class Pastes:
    """The pastes of one prompt. A long one is a short sign in the line until it is sent."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._folded: dict[str, str] = {}

    def clear(self) -> None:
        """Forget the pastes, but not the texts that the signs of long pastes mean."""
        self._parts.clear()

    def put(self, text: str) -> str:
        """Remember a paste and return the text that the line shows for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._parts.append(text)
        return self._fold(text)

    def put_back(self, typed: Typed) -> str:
        """Return the line that *typed* came from; `typed` reverses this."""
        text = typed.text
        for part in filter(None, map(str.strip, typed.pasted)):
            text = text.replace(part, self.put(part))
        return text

    def typed(self, line: str) -> Typed:
        """Return the prompt of a line: long pastes in full, and a list of all pastes."""
        for sign, pasted in self._folded.items():
            if sign in line:
                line = line.replace(sign, pasted)
                self._parts.append(pasted)
        return Typed(line.strip(), tuple(dict.fromkeys(self._parts)))

    def _fold(self, text: str) -> str:
        count = text.rstrip("\n").count("\n") + 1
        if count < FOLDED_LINES and len(text) < FOLDED_CHARS:
            return text
        sign = f"[pasted {count:,} lines]" if count > 1 else f"[pasted {len(text):,} characters]"
        name, number = sign, 1
        while self._folded.get(name, text).strip() != text.strip():
            number += 1
            name = f"{sign[:-1]}, {number}]"
        self._folded[name] = text
        return name
