"""The words of one command of a text, and where among them its program may be."""

from collections.abc import Sequence
from typing import Final

from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.shell import compile_once

INNER_GAPS: Final = r"[!$:@\[\]*?#~%^+]+"
SHORT_FLAGS: Final = r"-[A-Za-z]+"


class Segment:
    """Words of one command, which may start at any of them, or at the first if some are *sure*."""

    def __init__(self, words: Sequence[str], *, sure: int = 0, join: str = "") -> None:
        self.words = words
        self.sure = sure
        """This many words at the beginning are certainly the program and its subcommand."""
        self.join = join

    @cached_property
    def names(self) -> Sequence[str]:
        """Return the words, and possible words inside them."""
        if self.sure:
            return self.words
        names: list[str] = []
        gaps = compile_once(INNER_GAPS)
        for word in self.words:
            names.append(word)
            if gaps.search(word):
                names += [part for part in gaps.split(word) if part]
            if (last := program(word)) != word:
                names.append(last)
            if last.startswith("git-"):
                names += ["git", last.removeprefix("git-")]
        return names

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Return all names, and the last parts of those that are paths."""
        return frozenset(self.names).union(name.rpartition("/")[2] for name in self.names)

    @cached_property
    def letters(self) -> frozenset[str]:
        """Return the letters of all short options, and the first ones of long options."""
        flags = [name for name in self.vocabulary if name[:1] == "-"]
        is_short = compile_once(SHORT_FLAGS).fullmatch
        letters = {letter for flag in flags if is_short(flag) for letter in flag[1:]}
        return frozenset(letters.union(flag[2] for flag in flags if flag[:2] == "--" != flag))


def program(word: str) -> str:
    """Return the name of the program that *word* would start: without its folder, or an option."""
    if word[:1] == "-" and word[:2] != "--":
        return word[2:].rpartition("/")[2]  # env -S'touch x'
    return word.rpartition("/")[2].lstrip("!$@")
