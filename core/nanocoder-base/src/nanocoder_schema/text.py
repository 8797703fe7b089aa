"""Escape or clean untrusted text for a terminal and for a model, and suggest similar names."""

import re
import unicodedata
from collections.abc import Iterable

# Rarely used patterns are compiled at their first use (`re` caches them): compiling all of them
# took a fiftieth of a start.
# Escapes: C0 except "\n" and "\t", DEL. In text that is not ASCII the rest is found by category.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_BEYOND_ASCII = "[^\x00-\x7f]+"
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED_MARKS = f"({_MARK}{{8}}){_MARK}+"
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
# Invisible in any font: fillers, joiners and variation selectors, of which a run can encode a text.
# They are Unicode's Default_Ignorable_Code_Point, and a blank.
_UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef"
)
_JOINER = "\u200d"
_PICTURES = frozenset({"So", "Sk"})
_STYLED = frozenset({"So", "Sk", "Sm", "Po", "Pd"})
_EMOJI_STYLE = "\ufe0f"
_KEYCAP = "\u20e3"

# Complete terminal sequences, so that no "[31m" remains; then single control characters.
_SEQUENCES = (
    "\x1b\\[[0-?]*[ -/]*[@-~]"
    "|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-~]"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
# Invisible characters that can carry a message to a model.
_SMUGGLED = "[\U000e0000-\U000e0fff]"
_SURROGATES = "[\ud800-\udfff]"


def for_terminal(text: str, *, keep_emoji: bool = True) -> str:
    r"""Escape every character that a terminal could interpret or hide.

    Controls except "\n" and "\t", bidi, zero width, private, unassigned and tag characters, fillers
    and variation selectors become escapes such as \x1b and \u202e. With *keep_emoji* the joiners
    and selectors inside emoji stay.
    """
    if _CONTROLS.search(text):
        text = _CONTROLS.sub(lambda control: _escaped(control[0]), text)
    if text.isascii():
        return text
    text = re.sub(_STACKED_MARKS, r"\1", text)
    return re.sub(_BEYOND_ASCII, lambda run: _visible(run[0], keep_emoji=keep_emoji), text)


def is_hidden(letter: str) -> bool:
    """Return True if a terminal could interpret or hide *letter*."""
    return unicodedata.category(letter) in _HIDDEN or bool(re.match(f"[{_UNSEEN}]", letter))


def _visible(run: str, *, keep_emoji: bool) -> str:
    if run.isprintable() and not re.search(f"[{_UNSEEN}]", run):
        return run
    return "".join(
        letter
        if not is_hidden(letter) or (keep_emoji and _is_in_emoji(run, index))
        else _escaped(letter)
        for index, letter in enumerate(run)
    )


def _is_in_emoji(run: str, index: int) -> bool:
    """Return True if the invisible character at *index* forms an emoji with its neighbours."""
    if run[index] == _JOINER:
        return _joins_emoji(run, index)
    if run[index] != _EMOJI_STYLE:
        return False
    if index == 0:  # a digit precedes the run
        return run[1:2] == _KEYCAP
    return unicodedata.category(run[index - 1]) in _STYLED


def _joins_emoji(run: str, index: int) -> bool:
    """Return True if the joiner at *index* is between two parts of an emoji."""
    if index == 0 or index + 1 == len(run):
        return False
    before, after = run[index - 1], run[index + 1]
    return unicodedata.category(after) == "So" and (
        before == _EMOJI_STYLE or unicodedata.category(before) in _PICTURES
    )


def _escaped(letter: str) -> str:
    code = ord(letter)
    if letter <= "\xff":
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if letter <= "\uffff" else f"\\U{code:08x}"


def for_model(text: str) -> str:
    r"""Remove terminal sequences, control characters and tag characters.

    "\r\n" and a lone "\r" become "\n", lone surrogates U+FFFD. A last line has the number of
    removed sequences and characters, if there are any.
    """
    if text.isascii() and not _CONTROLS.search(text):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, controls = re.subn(_SEQUENCES, "", text)
    smuggled = 0
    if not text.isascii():
        text = re.sub(_SURROGATES, "\ufffd", text)
        text, smuggled = re.subn(_SMUGGLED, "", text)
    removed = controls + smuggled
    if not removed:
        return text
    return f"{text}\n[{removed:,} control or invisible characters removed]"


def one_line(text: str, width: int) -> str:
    """Return *text* for a terminal on one line of at most *width* characters."""
    # Escaping only lengthens text, so this much is enough; cleaning a megabyte would be slow.
    line = for_terminal(" ".join(text[: 8 * width].split()))
    return line if len(line) <= width and len(text) <= 8 * width else line[: width - 1] + "…"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, "1 byte" or "2,000 bytes"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def nearest(word: str, choices: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the *choices* most similar to *word*, best first."""
    from difflib import get_close_matches  # only mistakes need it

    words = list(choices)
    close = get_close_matches(word, words, n=len(words) or 1, cutoff=cutoff)
    # Two swapped letters are the likeliest typo: "modle" is "model" rather than "mode".
    return sorted(close, key=lambda choice: sorted(choice) != sorted(word))[:limit]


SURELY_MEANT = 0.85
"""The similarity of two names, from 0 to 1, from which one is surely a typo of the other."""


def did_you_mean(
    word: str, choices: Iterable[str], otherwise: str = "", *, limit: int = 1, cutoff: float = 0.6
) -> str:
    """Return "; did you mean 'X'?" for the *choices* nearest to *word*, else *otherwise*."""
    close = nearest(word, choices, limit=limit, cutoff=cutoff)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else otherwise
