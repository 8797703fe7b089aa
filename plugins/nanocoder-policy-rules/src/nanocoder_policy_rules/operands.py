"""What of a word of a command a program may take for a path."""

from collections.abc import Iterator

from nanocoder_policy_rules.shell import compiled

_SEPARATORS = r"[=,:@]"
_BEHIND_LETTERS = r"-(?:[A-Za-z]{1,3}(?=/)|[^./]*+(?=\.\./))(.*)"  # -rt/x, -xC../x
_WEB = r"(?:git\+)?(?:https?|ssh|git|ftps?|wss?)://[^/@]+(?:/.*)?"


def paths_in(word: str) -> Iterator[str]:
    """Yield each part of *word* that can be a path: `of=x`, `-t/x`, `-C../x`, `host:x`, `a,b`."""
    if compiled(_WEB).fullmatch(word):
        return
    yield word
    if word[:1] == "-" and word[:2] != "--":
        yield word[2:]
        if path := compiled(_BEHIND_LETTERS).match(word):
            yield path[1]
    for separator in compiled(_SEPARATORS).finditer(word):
        tail = word[separator.end() :]
        if compiled(_WEB).fullmatch(tail):
            return
        yield tail
        yield compiled(_SEPARATORS).split(tail, maxsplit=1)[0]
