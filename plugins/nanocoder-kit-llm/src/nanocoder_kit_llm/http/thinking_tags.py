"""Thinking that a model writes into its text, in tags: `<think>`, `[THINK]`, harmony's channels.

A tag is recognized only at the beginning of a reply or of a part of it, so an answer may mention
tags. A closing tag without an opening one makes all text before it thinking: chat templates often
write the opening tag themselves.
"""

import re
from collections.abc import Sequence
from typing import Final

from nanocoder import TextDelta, ThinkingDelta

Delta = TextDelta | ThinkingDelta

_ENDS: Final = {
    "<think>": ("</think>",),
    "<thinking>": ("</thinking>",),
    "<thought>": ("</thought>",),
    "<reasoning>": ("</reasoning>",),
    "<|thinking|>": ("<|/thinking|>",),
    "<seed:think>": ("</seed:think>",),
    "◁think▷": ("◁/think▷",),
    "[THINK]": ("[/THINK]",),
    "<|channel>thought": ("<channel|>",),
    "<|channel|>analysis<|message|>": ("<|end|>", "<|start|>assistant"),
    "<|START_THINKING|>": ("<|END_THINKING|>",),
}
"""Closing tags of each opening tag."""
_LONE_ENDS: Final = ("</think>", "</thinking>", "[/THINK]", "</seed:think>", "◁/think▷")
_DROPPED: Final = (
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
    "<|start|>assistant",
    "<|START_RESPONSE|>",
)
"""Marks around an answer, which are dropped."""
_ANSWER_ENDS: Final = ("<|end|>", "<|return|>", "<|END_RESPONSE|>")
TURN_MARK: Final = r"<(?:[|\uff5c][\w\u2581]{1,40}[|\uff5c]|/?s|(?:start|end)_of_turn)>"
"""Pattern of a special token that frames the turns of a chat, as a model's template writes it."""
_FENCE: Final = r"(?m)^ {0,3}(?:```|~~~)"
_BEGINNINGS: Final = (*_ENDS, *_DROPPED)
_IN_TEXT: Final = (*_LONE_ENDS, *_ANSWER_ENDS)
_MARKS: Final = (*_BEGINNINGS, *_IN_TEXT)
_SIGNS: Final = frozenset(mark[0] for mark in _MARKS)


class ThinkingTags:
    """Separates thinking from the text of one reply while it streams.

    With *is_thinking* the reply begins inside thinking, as an earlier one of the session did.
    """

    def __init__(self, *, is_thinking: bool = False) -> None:
        self._assumed = is_thinking
        self._ends: tuple[str, ...] = ()
        self._is_start = True
        self._waiting = ""
        self._texts: list[str] = []
        self._has_tags = False
        self._mentions_tags = False
        self.is_lone_end = False

    def feed(self, deltas: Sequence[Delta]) -> list[Delta]:
        """Return *deltas* with thinking separated; a text that may become a tag is buffered."""
        ready: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, TextDelta):
                self._waiting += delta.text
                ready += self._consume(is_end=False)
            else:
                ready.append(delta)
        return _joined(ready)

    def finish(self) -> list[Delta]:
        """Return the buffered text at the end of the reply."""
        ready = self._consume(is_end=True)
        if self._assumed and not self._has_tags and self._texts:
            ready.append(
                TextDelta("".join(self._texts))
            )  # no closing tag came, so it was the answer
        return _joined(ready)

    def _consume(self, *, is_end: bool) -> list[Delta]:
        ready: list[Delta] = []
        while self._waiting:
            before = len(self._waiting), self._ends, self._is_start
            if self._ends:
                self._consume_thinking(ready, is_end=is_end)
            elif self._is_start:
                self._consume_start(is_end=is_end)
            else:
                self._consume_text(ready, is_end=is_end)
            if before == (len(self._waiting), self._ends, self._is_start):
                break
        return ready

    def _consume_start(self, *, is_end: bool) -> None:
        """Look for a tag at the beginning of a part; spaces before a tag are dropped."""
        stripped = self._waiting.lstrip()
        marks = (*_BEGINNINGS, *_LONE_ENDS) if self._has_tags else _BEGINNINGS
        if not is_end and (not stripped or _is_beginning(stripped, marks)):
            return
        for mark in marks:
            if stripped.startswith(mark):
                self._ends = _ENDS.get(mark, ())
                self._has_tags = True
                self._waiting = stripped.removeprefix(mark)
                return
        self._is_start = False
        if self._assumed and not self._has_tags:
            self._ends = _LONE_ENDS
        self._waiting = stripped if self._has_tags else self._waiting

    def _consume_thinking(self, ready: list[Delta], *, is_end: bool) -> None:
        end, mark = _first(self._waiting, self._ends)
        if mark:
            ready.append(ThinkingDelta(self._waiting[:end]))
            self._waiting = self._waiting[end + len(mark) :]
            self._ends, self._is_start, self._has_tags = (), True, True
            self._texts = []
            return
        size = len(self._waiting) if is_end else _without_beginning(self._waiting, self._ends)
        piece, self._waiting = self._waiting[:size], self._waiting[size:]
        if piece:
            ready.append(ThinkingDelta(piece))
            if self._assumed and not self._has_tags:
                self._texts.append(piece)

    def _consume_text(self, ready: list[Delta], *, is_end: bool) -> None:
        """Pass text on; a lone closing tag in it makes all text before it thinking."""
        if _SIGNS.isdisjoint(self._waiting):
            self._pass(ready, len(self._waiting))
            return
        end, mark = _first(self._waiting, _IN_TEXT)
        if mark in _LONE_ENDS and self._is_lone(end, mark):
            ready.append(ThinkingDelta(self._waiting[:end]))
            self._texts = []
            self._has_tags = self._is_start = self.is_lone_end = True
            self._waiting = self._waiting[end + len(mark) :]
        elif mark in _ANSWER_ENDS and self._has_tags:
            self._pass(ready, end)
            self._waiting = self._waiting.removeprefix(mark)
            self._is_start = True
        elif mark:
            self._mentions_tags = True
            self._pass(ready, end + len(mark))
        else:
            size = _without_beginning(self._waiting, _IN_TEXT)
            self._pass(ready, len(self._waiting) if is_end else size)

    def _pass(self, ready: list[Delta], size: int) -> None:
        piece, self._waiting = self._waiting[:size], self._waiting[size:]
        if piece:
            ready.append(TextDelta(piece))
            if not self._mentions_tags:
                self._texts.append(piece)

    def _is_lone(self, end: int, mark: str) -> bool:
        """Return True if *mark* at *end* closes thinking, and is not just mentioned."""
        if self._has_tags or self._mentions_tags:
            return False
        text = "".join(self._texts) + self._waiting[:end]
        line = text[text.rfind("\n") + 1 :]
        is_code = line.count("`") % 2 == 1 or len(re.findall(_FENCE, text)) % 2 == 1
        return not is_code and mark.replace("/", "") not in text


def without_thinking(text: str, *, is_thinking: bool = False) -> str:
    """Return the *text* of a whole reply without the thinking in tags.

    Nothing but special tokens is no text: a server that does not know its model's end passes it on.
    """
    if re.match(r"\s*<", text) and re.fullmatch(rf"(?:\s*{TURN_MARK})+\s*", text):
        return ""
    is_plain = not any(sign in text for sign in _SIGNS)
    if not is_thinking and (is_plain or not any(mark in text for mark in _MARKS)):
        return text
    tags = ThinkingTags(is_thinking=is_thinking)
    deltas = [*tags.feed([TextDelta(text)]), *tags.finish()]
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def _first(text: str, marks: Sequence[str]) -> tuple[int, str]:
    """Return the offset of the first of *marks*, and the mark; (-1, "") if none is found."""
    matches = [(offset, mark) for mark in marks if (offset := text.find(mark)) >= 0]
    return min(matches, default=(-1, ""))


def _is_beginning(text: str, marks: Sequence[str]) -> bool:
    """Return True if *text* is a proper prefix of one of *marks*."""
    return any(mark.startswith(text) and mark != text for mark in marks)


def _without_beginning(text: str, marks: Sequence[str]) -> int:
    """Return the length of *text* without a suffix that may begin one of *marks*."""
    longest = max(map(len, marks))
    for start in range(max(0, len(text) - longest + 1), len(text)):
        if any(mark.startswith(text[start:]) for mark in marks):
            return start
    return len(text)


def _joined(deltas: Sequence[Delta]) -> list[Delta]:
    """Return *deltas* with neighbours of one kind joined, and empty ones dropped."""
    joined: list[Delta] = []
    for delta in deltas:
        if joined and type(joined[-1]) is type(delta):
            joined[-1] = type(delta)(joined[-1].text + delta.text)
        elif delta.text:
            joined.append(delta)
    return joined
