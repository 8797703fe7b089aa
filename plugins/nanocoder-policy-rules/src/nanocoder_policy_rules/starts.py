"""Positions where a command may begin: those that run, and arguments that look like one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from nanocoder_policy_rules.programs import READING
from nanocoder_policy_rules.shell_text import BEFORE_NAME, MAX_WORDS, Command, Script
from nanocoder_policy_rules.shell_words import Word

_SEVERAL: Final = re.compile(r"[\s;|&(`!]")
_SEPARATORS: Final = re.compile(r"[;|&(){}\n`!]+")
_QUOTES: Final = re.compile(r"[\\'\"]+")


def name_of(program: str) -> str:
    """Return the name of a program as rules compare it: without directory, in lower case."""
    return program.rpartition("/")[2].casefold()


class Start(NamedTuple):
    """The beginning of a command: its words from *at* on; *is_run* unless in an argument."""

    line: Sequence[Word]
    at: int
    is_run: bool

    @property
    def words(self) -> Sequence[Word]:
        """Its words, as many as are looked at."""
        return self.line[self.at : self.at + MAX_WORDS] if self.at else self.line


Starts = Mapping[str, list[Start]]
"""By the names of the programs; "" has what is known only when it runs."""


def starts_of(script: Script) -> Starts:
    """Return each place where a command may begin, in whatever program's arguments that is."""
    starts: dict[str, list[Start]] = defaultdict(list)
    for command in script.commands:
        for words in filter(None, command.started):
            name = name_of(words[0].text) if words[0].is_literal else ""
            starts[name].append(Start(words, 0, is_run=True))
        if command.program in READING:  # it runs nothing
            continue
        for at, word in enumerate(command.words[1:], 1):
            if word.is_literal:
                starts[name_of(word.text)].append(Start(command.words, at, is_run=False))
        for words in _quoted(command):
            starts[name_of(words[0].text)].append(Start(words, 0, is_run=False))
    return starts


def starts_among(starts: Starts, program: str) -> Iterable[Start]:
    """Return those that may start *program*, "" for any."""
    if not program:
        return chain.from_iterable(starts.values())
    return [*starts.get(program, ()), *starts.get("", ())]


def _quoted(command: Command) -> Iterator[Sequence[Word]]:
    """Yield the commands in arguments that a shell would run, as words."""
    texts = [word.text for word in (*command.words[1:], *(word for _, word in command.assignments))]
    texts += command.documents
    for text in filter(_SEVERAL.search, texts):
        quoted = _QUOTES.sub("\n", text)
        for variant in (_QUOTES.sub("", text), quoted, quoted.replace("=", "\n")):
            for segment in _SEPARATORS.split(variant):
                words = [Word(each) for each in segment.split()]
                while words and BEFORE_NAME.fullmatch(words[0].text):
                    words = words[1:]
                if words:
                    yield words
