"""Every place that a command could name: all its words, from each directory that it may enter."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from nanocoder_policy_rules import candidates, descending, expansion, hidden_names, written_files
from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.command_search import Text
from nanocoder_policy_rules.operands import paths_in
from nanocoder_policy_rules.reach import HERE, exists
from nanocoder_policy_rules.runners import RUNNERS
from nanocoder_policy_rules.segment import Segment, program
from nanocoder_policy_rules.shell import Simple, compile_once

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.reach import Reach

MAX_PLACES: Final = 4_000
MAX_DIRECTORIES: Final = 24
_ENTERING: Final = frozenset(("cd", "pushd"))
_ENTERING_OPTIONS: Final = frozenset(("-C", "--directory", "--chdir", "--cwd", "--prefix"))
_JOINED: Final = r"-C(.+)|--(?:directory|chdir|cwd|prefix|work-tree)=(.+)"
_ENTERS: Final = _ENTERING | _ENTERING_OPTIONS
# The words of these programs are no paths: text, messages, names of branches, a pattern.
_TEXT: Final = frozenset(("echo", "printf"))
_NAMES_OF_GIT: Final = frozenset(("branch", "commit", "switch", "tag"))
_TEXT_OF_GIT: Final = frozenset(
    ("-m", "--message", "--author", "--grep", "-S", "-G", "--format", "--pretty", "--since")
)
_SEARCHES: Final = frozenset(("grep", "egrep", "fgrep", "rg"))
_PATTERN_ELSEWHERE: Final = r"-[A-Za-z]*[ef].*|--(?:re|fi).*"
_CODE: Final = r"[\s()\[\]{}'\"`;|&<>,]+"


class NamedPlaces:
    """The places that the words of one command may name, with what is not certain about them."""

    def __init__(self, text: Text, reach: "Reach") -> None:
        self._text = text
        self._reach = reach

    @cached_property
    def known_words(self) -> list[str]:
        """Return all words that the command could be hiding, and the names that some expand to.

        The last name of a path counts as one where something is there, as a target may be: the
        path itself is among the words, and is protected by each name in it.
        """
        text, folder = self._text, self._reach.folder
        if not text.recognised:
            return [*text.words, *expansion.expand([*text.words], folder, self.directories)]
        if self.directories:
            return [*text.words]
        spelled = text.spelled
        last_names = [name for name in text.words if name not in spelled]
        return [*spelled, *[name for name in last_names if exists(f"{folder}/{name}")]]

    @cached_property
    def words(self) -> list[str]:
        """Return all words that could be a path, in the order of the command."""
        linked = self._linked() if "ln" in self._text.words else ()
        return [*self._named(), *linked, *written_files.read_by_sed(self._text)]

    def _linked(self) -> list[str]:
        """Return what the links that the command itself makes lead to."""
        resolved = (
            place
            for segment in self._text.segments
            for at, word in enumerate(segment.words)
            if program(word) == "ln"
            for place in descending.linked_places(segment.words[at:])
        )
        return list(dict.fromkeys(resolved))

    def _named(self) -> list[str]:
        if self._text.recognised:
            return candidates.words_of("", self._text.once(_recognised_files))
        return candidates.words_of(self._text.text, self.known_words)

    @cached_property
    def directories(self) -> list[str]:
        """Where the command may be besides its start: after each `cd`, and each after others."""
        places = [HERE]
        for target in self._entered:
            places += [os.path.join(place, target) for place in places]
            places = list(dict.fromkeys(map(os.path.normpath, places)))
            if len(places) > MAX_DIRECTORIES:
                break
        return [place for place in places if place != HERE]

    @cached_property
    def problem(self) -> str:
        """Say why not every place is known that the words themselves name, or ""."""
        if len(self.words) > candidates.MAX_WORDS or len(self._all) > MAX_PLACES:
            return "it names too many files to check each"
        if len(self.directories) >= MAX_DIRECTORIES:
            return "it changes its directory too often to check each file"
        return "its wildcards go through too many folders" if self._expanded is None else ""

    def __iter__(self) -> "Iterator[ResolvedPath]":
        """Yield the places, resolved; those of words that lead nowhere are left out."""
        return (place for _, place in self._all)

    @cached_property
    def _all(self) -> "list[tuple[str, ResolvedPath]]":
        return list(islice(self._places(), MAX_PLACES + 1))

    def _places(self) -> "Iterator[tuple[str, ResolvedPath]]":
        for word in self._expanded or ():
            yield word, self._reach.operand(word)
        yield from self.of(self.words)

    def of(self, words: Iterable[str]) -> "Iterator[tuple[str, ResolvedPath]]":
        """Yield *words* with the places that they name from each directory of the command."""
        several = list(dict.fromkeys(words))
        for directory in (HERE, *self.directories):
            start = self._reach.folder
            folder = start if directory == HERE else os.path.join(start, directory)
            # A command may create a file in a protected folder.
            takes_all = directory != HERE and self._reach.operand(directory).protection is not None
            for word in several if takes_all else self._reach.leading(several, folder):
                path = word if directory == HERE else os.path.join(directory, word)
                yield word, self._reach.operand(path)

    @cached_property
    def _expanded(self) -> list[str] | None:
        """Return the hidden names of wildcards; None where they are too many to look."""
        if self._text.recognised and RUNNERS.isdisjoint(self._text.words):
            return []  # its wildcards are in quotes, and no shell sees them again
        if candidates.WILD.isdisjoint("".join(self.words)):
            return []
        folders = [HERE, *self.directories]
        wild = candidates.wild_words(self._text.text, self.words)
        return hidden_names.expand(wild, self._reach, folders)

    @cached_property
    def _entered(self) -> list[str]:
        return list(dict.fromkeys(map(candidates.expand_home, self._text.once(_all_targets))))


def _recognised_files(text: Text) -> list[str]:
    simples = text.recognised
    return [part for at, each in enumerate(simples) for part in _words_of_files(each, simples, at)]


def _all_targets(text: Text) -> list[str]:
    if _ENTERS.isdisjoint(text.words) and "\n-C" not in "\n".join(["", *text.words]):
        return []
    commands: Sequence[Simple | Segment] = text.recognised or text.segments
    return [target for command in commands for target in _targets(command.words)]


def _targets(words: Sequence[str]) -> Iterator[str]:
    """Yield the directories that the words of one command enter."""
    for at, word in enumerate(words):
        if program(word) in _ENTERING:
            yield next((each for each in words[at + 1 :] if each[:1] != "-"), "~")
        elif word in _ENTERING_OPTIONS and words[at + 1 :]:
            yield words[at + 1]
        elif match := compile_once(_JOINED).fullmatch(word):
            yield match[1] or match[2]


def _words_of_files(simple: Simple, simples: Sequence[Simple], at: int) -> list[str]:
    """Return the possible paths among the words of one command; messages and patterns are none."""
    name, *rest = simple.words
    is_piped = at + 1 < len(simples) and simples[at + 1].join == "|"
    if name in _TEXT and not is_piped:
        return []
    if name == "git":
        rest = _files_of_git(rest)
    elif name in _SEARCHES and not any(map(compile_once(_PATTERN_ELSEWHERE).fullmatch, rest)):
        pattern = next((at for at, word in enumerate(rest) if word[:1] != "-"), len(rest))
        rest = rest[:pattern] + rest[pattern + 1 :]
    parts: list[str] = []
    for word in rest if "/" not in name else simple.words:
        parts += paths_in(word)
        if compile_once(_CODE).search(word):  # open('private/x')
            parts += filter(None, compile_once(_CODE).split(word))
    return parts


def _files_of_git(words: Sequence[str]) -> list[str]:
    """Return the words of a git command that may be files: no messages, no names of branches."""
    if not _NAMES_OF_GIT.isdisjoint(words):
        end = words.index("--") if "--" in words else len(words)
        options = [word for word in words[:end] if word[:1] == "-"]
        return [*options, *words[end:]]
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if before not in _TEXT_OF_GIT and word.partition("=")[0] not in _TEXT_OF_GIT
    ]
