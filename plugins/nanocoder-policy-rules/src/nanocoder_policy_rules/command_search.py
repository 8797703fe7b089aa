"""Search a text for a command at every place where one could be, for rules that forbid.

A program runs others in more ways than a list can hold. So each word counts as a program, whatever
comes before it, inside quotes and inside quotes within these. Only programs that are
known to take plain data (`echo`, `grep`, `git commit -m`) keep their arguments to themselves. A
name that a command computes when it runs is not in the text: the answer to that is "maybe".
"""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, Final, TypeVar

from nanocoder_policy_rules import code_runners
from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.computed_words import (
    SIGNS,
    WILD,
    has_placeholder,
    has_signs,
    mark_computed,
    programs,
    stands_for,
)
from nanocoder_policy_rules.copied_programs import COMPUTED, copied_programs
from nanocoder_policy_rules.git_words import plain_words
from nanocoder_policy_rules.reach import Anywhere
from nanocoder_policy_rules.reading_commands import is_safe
from nanocoder_policy_rules.segment import INNER_GAPS, SHORT_FLAGS, Segment, program
from nanocoder_policy_rules.shell import Simple, commands, compile_once, remember
from nanocoder_policy_rules.spellings import replace_aliases, replace_variables, spellings

_QUOTES = r"\$?'([^']*+)'|\$?\"((?:[^\"\\]|\\.)*+)\"|\\([\s\S])"
# `&` and `|` end a command, but not as a part of a redirection: `&>log`, `2>&1`, `>|log`.
_ENDS = r"(?:[;\n]|(?<![<>])\||(?<![<>])&(?!>))+"
_LITTER = r"\\\n|[\\'\"]"
_GAPS = r"[\s(){}<>`,=;&|]+"
_ALL_GAPS = r"[\s(){}<>`,=!;&|$:@\[\]*?#~%^+]+"
_FEEDS: Final = frozenset(("xargs", "parallel"))  # the program that they run may come before them
_REDEFINES: Final = frozenset(
    (
        *("alias", "hash", "enable", "shopt", "eval", "source", ".", "exec", "set", "declare"),
        *("typeset", "export", "readonly", "local", "trap", "bind", "function", "unset"),
    )
)
# These read and write files in their arguments, and never run a word as a program.
_PLAIN: Final = frozenset(
    (
        *("echo", "grep", "egrep", "fgrep", "cat", "head", "tail", "wc", "ls", "mkdir", "touch"),
        *("cp", "mv", "rm", "rmdir", "ln", "chmod", "tee", "diff", "cmp", "cut", "tr", "true"),
    )
)

_NO_PROGRAMS: Final = frozenset("-!$@")

R = TypeVar("R")
_COPIES: Final = frozenset(("cp", "ln", "mv"))
_RECURSIVE: Final = frozenset(("rm", "cp"))  # to them -R is -r
_PLAIN_TEXT = r"[A-Za-z0-9_@%+=:,./^ ;&>-]*+"
"""No quotes, no pipes, and no signs that stand for something else."""
_INSTALLED = r"/(?:[^/]+/)*s?bin/[^/]+"


class Match(IntEnum):
    """How certainly a text holds a command that a rule is about."""

    NO = 0
    MAYBE = 1
    YES = 2


class Text:
    """A command's text and everything that it could be hiding, each worked out once."""

    def __init__(self, text: str, simples: Sequence[Simple] | None) -> None:
        self.text = text
        self.recognised = simples or ()
        # After an alias or a copy, the first word of a command no longer tells which program runs.
        self._simples = simples if replace_aliases(text) == text else None
        self._answers: dict[Callable[[Text], Any], Any] = {}

    @property
    def is_plain(self) -> bool:
        """Tell whether the text has one reading, in which its words are what it shows."""
        text = self.text
        return compile_once(_PLAIN_TEXT).fullmatch(text) is not None and len(spellings(text)) == 1

    def once(self, question: "Callable[[Text], R]") -> R:
        """Return the answer to a question about nothing but this text, which is asked once.

        A text is kept from one call to the next, so what depends on files is no such question.
        """
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: R = self._answers[question]
        return answer

    @cached_property
    def scripts(self) -> list[list[Segment]]:
        """Return the commands in order, once for each reading of the text."""
        if self._simples is None:
            return list(_possible_segments(self.text))
        return [list(_recognised_segments(self._simples))]

    @cached_property
    def segments(self) -> list[Segment]:
        """Return the words, command by command, in each spelling."""
        return [segment for script in self.scripts for segment in script]

    @cached_property
    def spelled(self) -> dict[str, None]:
        """Return every word that the text could be hiding, of commands and plain data, in order."""
        words: dict[str, None] = {}
        for spelling in spellings(self.text):
            bare = compile_once(_LITTER).sub("", spelling)
            words.update(dict.fromkeys(compile_once(_GAPS).split(bare)))
            if compile_once(INNER_GAPS).search(bare):
                words.update(dict.fromkeys(compile_once(_ALL_GAPS).split(bare)))
        words.pop("", None)
        odd = [program(word) for word in words if word[0] in _NO_PROGRAMS and "/" not in word]
        words.update(dict.fromkeys(filter(None, odd)))
        return words

    @cached_property
    def words(self) -> dict[str, None]:
        """Return the same, and the last names of words that are paths: each may be a program."""
        words = dict(self.spelled)
        words.update(dict.fromkeys([program(word) for word in words if "/" in word]))
        if "git-" in self.text:
            words.update(dict.fromkeys(("git", *(word.removeprefix("git-") for word in words))))
        words.pop("", None)
        return words

    def match(self, rule_words: Sequence[str]) -> Match:
        """Tell how certainly some command begins with the words *rule_words*."""
        if self._can_hold(rule_words):
            if any(_occurs(rule_words, segment) for segment in self.segments):
                return Match.YES
            if _is_in_a_row(rule_words, self._all_words):
                return Match.YES
        maybe = self.gets_unseen_code or self.copies(rule_words[0])
        maybe = maybe or any(_may_become(rule_words, words) for words in self._computed)
        return Match.MAYBE if maybe else Match.NO

    def copies(self, name: str) -> bool:
        """Tell whether the command may copy the program *name*, or link to it."""
        return any(copied == name or stands_for(copied, name) for copied in self._copied)

    @property
    def is_computed(self) -> bool:
        """Tell whether a part of the command, or of a later one, is known only when it runs."""
        return bool(self._computed or self._copied or self.gets_unseen_code)

    @cached_property
    def gets_unseen_code(self) -> bool:
        """Tell whether a shell gets code that the text does not show."""
        # A text with a backslash has readings whose words are not among these.
        if "\\" not in self.text and code_runners.SHELLS.isdisjoint(self.words):
            return False
        return code_runners.gets_unseen_code(self.text)

    def _can_hold(self, rule_words: Sequence[str]) -> bool:
        names = (want for want in rule_words if want[:1] != "-" and WILD.isdisjoint(want))
        return all(name in self.words for name in names)

    @cached_property
    def _all_words(self) -> list[str]:
        """Return all words of an unknown text, so that a quote that we misread cannot hide one."""
        if self._simples is not None:
            return []
        bare = compile_once(_LITTER).sub("", replace_variables(self.text))
        return [word for word in compile_once(_ALL_GAPS).split(bare) if word]

    @cached_property
    def _computed(self) -> list[list[str]]:
        """Return the commands with a word that is computed, each marked."""
        if not has_signs(self.text):
            return []
        if self._simples is None or has_placeholder(self.text):
            scripts = _pieces(self.text)
            pieces = dict.fromkeys(piece for script in scripts for _, piece in script)
        else:
            pieces = dict.fromkeys(
                " ".join(segment.words) for segment in self.segments if not segment.sure
            )
        marked = (mark_computed(piece, _split) for piece in pieces if has_signs(piece))
        return [words for words in marked if any(not WILD.isdisjoint(word) for word in words)]

    @cached_property
    def _copied(self) -> list[str]:
        """Return the programs that the command may copy, under whatever name."""
        if SIGNS.isdisjoint(self.text) and "bin" not in self.text:
            return []
        raw = dict.fromkeys(piece for script in _pieces(self.text) for _, piece in script)
        return copied_programs(self.text, (mark_computed(piece, _split) for piece in raw), raw)


@remember
def recognised_text(command: str) -> Text:
    """Return a command of the shell, split up."""
    return Text(command, commands(command))


@remember
def unknown_text(started: str) -> Text:
    """Return what other tools run, split up: not even a recognised text is certain there."""
    return Text(started, None)


def _recognised_segments(simples: Sequence[Simple]) -> Iterator[Segment]:
    redefines = any(simple.words[0] in _REDEFINES for simple in simples)
    plain = [None if redefines else _plain(simple.words) for simple in simples]
    upstream: list[str] = []
    for at, simple in enumerate(simples):
        upstream = [*upstream, *simple.words] if simple.join == "|" else [*simple.words]
        words = plain[at]
        if words is not None and not _feeds_a_program(simples, plain, at):
            yield Segment(words[0], sure=words[1], join=simple.join)
            continue
        for text in spellings(" ".join(simple.words)):
            yield Segment(_split(text), join=simple.join)
        if simple.join == "|" and words is None:
            yield _feed_words(_split(" ".join(upstream)), simple.join)


def _feeds_a_program(simples: Sequence[Simple], plain: Sequence[object | None], at: int) -> bool:
    """Tell whether what a command writes is read by one that could run it."""
    for later in range(at + 1, len(simples)):
        if simples[later].join != "|":
            return False
        if plain[later] is None:
            return True
    return False


def _feed_words(words: list[str], join: str = "") -> Segment:
    feeds = not _FEEDS.isdisjoint(word.rpartition("/")[2] for word in words)
    return Segment(words * 2 if feeds else words, join=join)


def _plain(words: Sequence[str]) -> tuple[Sequence[str], int] | None:
    """Return a command that takes plain data, and how many of its words identify it."""
    if words[0] == "git":
        return plain_words(words)
    if words[0] in _COPIES and any(map(compile_once(_INSTALLED).fullmatch, words[1:])):
        return None  # the copy runs under another name afterwards
    if words[0] in _PLAIN or is_safe(words, Anywhere()):
        return words, 1
    return None


def _possible_segments(text: str) -> Iterator[list[Segment]]:
    for spelling in spellings(text):
        for pieces in _pieces(spelling):
            split = ((_split(piece), join) for join, piece in pieces)
            script = [Segment(words, join=join) for words, join in split if words]
            every = [word for segment in script for word in segment.words]
            fed = _feed_words(every)
            yield [*script, fed] if fed.words is not every else script


def _pieces(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the commands of *text*, once with quoted text in them, once with it as commands."""
    in_quotes = compile_once(_QUOTES).sub(_unquote, text.replace("\\\n", ""))
    for bare in dict.fromkeys((in_quotes, compile_once(_LITTER).sub("", text))):
        parts = ["", *compile_once(f"({_ENDS})").split(bare)]
        yield list(zip(parts[::2], parts[1::2], strict=True))


def _unquote(quoted: re.Match[str]) -> str:
    inner = quoted[1] or quoted[2] or quoted[3] or ""
    return compile_once(_ENDS).sub(" ", compile_once(_LITTER).sub("", inner))


def _split(piece: str) -> list[str]:
    bare = compile_once(_LITTER).sub("", piece)
    return [word for word in compile_once(_GAPS).split(bare) if word]


def _occurs(rule_words: Sequence[str], segment: Segment) -> bool:
    """Tell whether the words are in a segment in this order; options may be anywhere."""
    names, position = segment.names, 0
    same_case = "" if _RECURSIVE.isdisjoint(rule_words) else "R"
    for index, want in enumerate(rule_words):
        if want == "*":
            continue
        if want[:1] == "-" and _has_option(want, segment, same_case=same_case):
            continue
        if index < segment.sure and want[:1] != "-":
            if index >= len(names) or not _is_word(names[index], want):
                return False
            position = index + 1
            continue
        if not segment.sure and WILD.isdisjoint(want) and want not in segment.vocabulary:
            return False
        for at in range(position, len(names)):
            if _is_word(names[at], want):
                position = at + 1
                break
        else:
            return False
    return True


def _has_option(want: str, segment: Segment, *, same_case: str = "") -> bool:
    """Tell whether an option is in a segment; capitals in *same_case* count as small letters."""
    letters = segment.letters.union(map(str.lower, segment.letters.intersection(same_case)))
    if compile_once(SHORT_FLAGS).fullmatch(want):
        small = {letter.lower() if letter in same_case else letter for letter in want[1:]}
        return small <= letters
    if want[2:3] in letters:
        return True
    # GNU programs accept abbreviated long options.
    return any(
        name[:2] == "--" and len(name) > len("--x") and want.startswith(name.partition("=")[0])
        for name in segment.vocabulary
    )


def _is_word(word: str, want: str) -> bool:
    if WILD.isdisjoint(want):
        return want in (word, word.rpartition("/")[2])
    return fnmatchcase(word, want) or fnmatchcase(word.rpartition("/")[2], want)


def _is_in_a_row(rule_words: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether the words follow each other with nothing but options between them."""
    names = [want for want in rule_words if want != "*"]
    if not names[1:] or any(name.startswith("-") for name in names):
        return False
    at, after_option = 0, False
    for word in words:
        if _is_word(word, names[at]):
            at, after_option = at + 1, False
            if at == len(names):
                return True
        elif word[:1] == "-":
            after_option = True
        elif not after_option:
            at = 1 if _is_word(word, names[0]) else 0
    return False


def _may_become(rule_words: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether a computed word could make *words* the command that a rule is about."""
    first, *others = rule_words
    second = others[0] if others else ""
    if not others and any(stands_for(word, first) for word in programs(words)):
        return True
    # A repeated word is checked once with each of its neighbours.
    for before, word, following in dict.fromkeys(
        zip(["", *words[:-1]], words, [*words[1:], ""], strict=True)
    ):
        if WILD.isdisjoint(word):
            continue
        is_next = _is_word(following, second) or stands_for(following, second)
        if others and is_next and stands_for(word, first):
            return True
        if before and COMPUTED in word and _follows(before, word, rule_words):
            return True
    starts = words[:1] if words and stands_for(words[0], first) else ()
    return bool(starts and others) and _occurs(rule_words, Segment([first, *words[1:]]))


def _follows(before: str, word: str, rule_words: Sequence[str]) -> bool:
    """Tell whether a computed word is where the next word of a rule is expected."""
    pairs = pairwise(rule_words)
    return any(_is_word(before, first) and stands_for(word, second) for first, second in pairs)
