"""Parts of a command's word that a program may take for a path."""

from typing import Final

from nanocoder_policy_rules.shell import compile_once, remember

MAX_KEPT_CHARS: Final = 256
"""The parts of a word take as much memory as the square of its length."""
_SEPARATORS = r"[=,:@]"
HAS_PARTS = r"\A-|[=,:@]"
"""A word with one of these may have parts that are paths."""
_BEHIND_LETTERS = r"-(?:[A-Za-z]{1,3}(?=/)|[^./]*+(?=\.\./))(.*)"  # -rt/x, -xC../x
_WEB = r"(?:git\+)?(?:https?|ssh|git|ftps?|wss?)://[^/@]+(?:/.*)?"


def paths_in(word: str) -> tuple[str, ...]:
    """Return each part of *word* that can be a path: `of=x`, `-t/x`, `-C../x`, `host:x`, `a,b`."""
    if compile_once(HAS_PARTS).search(word) is None:
        return (word,)
    return _parts_of_short(word) if len(word) <= MAX_KEPT_CHARS else _parts_of(word)


def _parts_of(word: str) -> tuple[str, ...]:
    has_address = "://" in word
    if has_address and compile_once(_WEB).fullmatch(word):
        return ()
    parts = [word]
    if word[:1] == "-" and word[:2] != "--":
        parts.append(word[2:])
        if path := compile_once(_BEHIND_LETTERS).match(word):
            parts.append(path[1])
    for separator in compile_once(_SEPARATORS).finditer(word):
        tail = word[separator.end() :]
        if has_address and compile_once(_WEB).fullmatch(tail):
            break
        parts += [tail, compile_once(_SEPARATORS).split(tail, maxsplit=1)[0]]
    return tuple(parts)


_parts_of_short: Final = remember(_parts_of)
