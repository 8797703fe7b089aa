"""The one reader of shell text: a script of bash as its commands, words and redirections.

tree-sitter parses; this turns the tree into values. Commands inside of substitutions, loops,
functions and quoted scripts (`bash -c '...'`) are commands like the others.
"""

import re
import time
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Final, NamedTuple

import tree_sitter_bash
from attrs import evolve, frozen
from nanocoder import for_terminal
from tree_sitter import Language, Parser

from nanocoder_policy_rules import programs
from nanocoder_policy_rules.shell_words import (
    COMPUTED,
    CUT,
    KEYWORDS,
    MISREAD,
    REDIRECTS,
    Word,
    is_cut_otherwise,
    text_of,
    word_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CHARS: Final = 131_072
LIMIT_S: Final = 0.25
MAX_DEPTH: Final = 3
"""The depth to which scripts in quotes are followed."""
MAX_WORDS: Final = 200
MAX_LEVEL: Final = 200
MAX_CACHED: Final = 256
_CHUNK_BYTES: Final = 1_024
_RUNS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
# Options, durations and assignments, which stand before the program that a wrapper starts.
_TAKES_SCRIPT: Final = re.compile(r"-(?!-).*c", re.DOTALL)
_OPTION: Final = re.compile(r"-.*|\d+\w?", re.DOTALL)
BEFORE_NAME: Final = re.compile(r"-.*|\d+\w?|\w+=.*", re.DOTALL)


class Redirect(NamedTuple):
    """A redirection: *operator* as `>` or `2>`, *target* None for the content of a heredoc."""

    operator: str
    target: Word | None

    @property
    def is_harmless(self) -> bool:
        """Return True if the redirection discards output, or joins standard error to it."""
        text = self.target.text if self.target else ""
        if self.operator.endswith(">&"):
            return text.isdigit()
        return self.operator in {">", "1>", "2>", "&>", ">>"} and text == "/dev/null"


@frozen(slots=False)
class Command:
    """One simple command; *text* is its source.

    *documents* are the texts that it reads: of heredocs and behind `<<<`.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    text: str = ""
    documents: tuple[str, ...] = ()

    @cached_property
    def program(self) -> str:
        """Return the name of the program without its directory; "" where there is none."""
        return program_of(self.words)

    @cached_property
    def started(self) -> tuple[Sequence[Word], ...]:
        """Return the words, and those of each command behind `sudo`, `env`, `xargs` or `-exec`."""
        return tuple(_started(self))


class Script(NamedTuple):
    """A parsed shell script.

    *commands* are all, in the order of the text, *features* the types of its syntax nodes.
    *problem* says why the text is not understood as a whole; "" when it is.
    """

    commands: tuple[Command, ...] = ()
    features: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def operands(self) -> Iterator[Word]:
        """The words behind the programs, values of assignments and files of redirections."""
        for command in self.commands:
            yield from command.words[1:]
            yield from (value for _, value in command.assignments)
            yield from (each.target for each in command.redirects if each.target)


@lru_cache(MAX_CACHED)
def parse(text: str, depth: int = 0) -> Script:
    """Return the commands of *text*, those in scripts that it quotes included."""
    if for_terminal(text) != text:
        return Script(problem="it has a character that cannot be seen")
    if len(text) > MAX_CHARS:
        return Script(problem=f"it has more than {MAX_CHARS:,} characters")
    root = _parsed(text)
    if root is None:
        return Script(problem="it is too complex to parse")
    nodes = [*_nodes(root)]
    problem = "it is nested too deeply" if any(it.level == MAX_LEVEL for it in nodes) else ""
    if root.has_error:
        problem = problem or "a part of it is not understood as bash"
    if "\\" in text and MISREAD.search(text):
        problem = problem or "a backslash stands where the parser reads it otherwise than bash"
    if any(is_cut_otherwise(visit.node) for visit in nodes if visit.kind in CUT):
        problem = problem or "its words are cut otherwise than by bash"
    commands = [command for visit in nodes if (command := _command_at(visit)) is not None]
    if any(each.program in programs.WRAPPERS and len(each.words) > MAX_WORDS for each in commands):
        problem = problem or f"a program that starts others has more than {MAX_WORDS} words"
    quoted = [code for each in commands for code in _quoted_scripts(each)]
    if quoted and depth == MAX_DEPTH:
        problem = problem or f"it has scripts in quotes more than {MAX_DEPTH} deep"
        quoted = []
    inner = [parse(code, depth + 1) for code in quoted]
    problem = problem or next((script.problem for script in inner if script.problem), "")
    commands += [command for script in inner for command in script.commands]
    return Script(tuple(commands), frozenset(visit.kind for visit in nodes), problem)


def _started(command: Command) -> Iterator[Sequence[Word]]:
    words, has_name = command.words, False
    yield words
    if command.program == "find":
        yield from (words[at:] for at in range(2, len(words)) if words[at - 1].text in _RUNS)
    elif command.program in programs.WRAPPERS:
        for at in range(1, min(len(words), MAX_WORDS)):
            is_before_name = BEFORE_NAME.fullmatch(words[at].text) is not None
            # A computed word behind the name of a program is an operand of it.
            if not words[at].text.startswith("-") and (words[at].is_literal or not has_name):
                yield words[at:]
            has_name = has_name or not is_before_name


def program_of(words: Sequence[Word]) -> str:
    """Return the name of the program that *words* start, without its directory; "" for none."""
    return words[0].text.rpartition("/")[2] if words else ""


def unwrapped(command: Command) -> Command:
    """Return the command behind wrappers that do not change it, such as `timeout 60`."""
    words = command.words
    while words and words[0].text in programs.TRANSPARENT:
        words = tuple(dropwhile(lambda word: _OPTION.fullmatch(word.text), words[1:]))
    return evolve(command, words=words)


_COMMANDS: Final = frozenset(
    ("command", "declaration_command", "unset_command", "test_command", "variable_assignments")
)


def _parsed(text: str) -> "Node | None":
    source = text.encode(errors="replace")
    until = time.monotonic() + LIMIT_S

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _CHUNK_BYTES]

    def is_late(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001 - the parser's own form
        return time.monotonic() > until

    try:
        # A parser is for one thread at a time, and cheap.
        return Parser(_language()).parse(read, progress_callback=is_late).root_node
    except ValueError:
        return None


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


class _Visit(NamedTuple):
    """A node of the tree, its type, and the one above it."""

    node: "Node"
    kind: str
    parent: "Node"  # asked for it, a node would look from the root on
    level: int = 0


def _nodes(root: "Node") -> Iterator[_Visit]:
    """Yield all nodes in the order of the text, as deep as they are followed."""
    waiting = [_Visit(root, root.type, root)]
    while waiting:
        visit = waiting.pop()
        yield visit
        if visit.level < MAX_LEVEL:
            node, level = visit.node, visit.level + 1
            waiting += [_Visit(each, each.type, node, level) for each in reversed(node.children)]


def _command_at(visit: _Visit) -> Command | None:
    """Return the command that a node is, or what else assigns or opens files; None for others."""
    node, kind, parent, _ = visit
    if kind in _COMMANDS or (kind == "variable_assignment" and parent.type not in _COMMANDS):
        return _command(node, parent)
    if kind == "for_statement":
        names = [text_of(each) for each in node.children if each.type == "variable_name"]
        return Command((), tuple((name, COMPUTED) for name in names), (), text_of(node))
    if kind in REDIRECTS and not _is_of_command(parent):
        return Command((), (), (_redirect(node),), text_of(node))
    return None


def _command(node: "Node", parent: "Node") -> Command:
    words, assignments, redirects = list[Word](), list[tuple[str, Word]](), list["Node"]()
    for child in (node,) if node.type == "variable_assignment" else node.children:
        if child.type == "variable_assignment":
            assignments.append(_assignment(child))
        elif child.type in REDIRECTS:
            redirects.append(child)
        elif child.is_named or child.type in KEYWORDS or node.type in _BUILTINS:
            words += _words_of(child)
    if parent.type == "redirected_statement":
        redirects += [each for each in parent.children if each.type in REDIRECTS]
    words += [word for each in redirects for word in _words_behind(each)]
    targets = tuple(map(_redirect, redirects))
    documents = tuple(text for each in redirects for text in _documents(each))
    return Command(tuple(words), tuple(assignments), targets, text_of(node), documents)


def _documents(redirect: "Node") -> Iterator[str]:
    """Yield the text that a command reads by a redirection; what is computed stands as written."""
    for child in redirect.children if redirect.type != "file_redirect" else ():
        if child.type == "heredoc_body":
            yield text_of(child)
        elif redirect.type == "herestring_redirect" and child.is_named:
            yield word_of(child).text


def _words_behind(redirect: "Node") -> Iterator[Word]:
    """Yield the words of a command that stand behind a redirection, as in `echo > file word`."""
    yield from map(word_of, redirect.children_by_field_name("destination")[1:])
    yield from map(word_of, redirect.children_by_field_name("argument"))
    for inner in redirect.children_by_field_name("redirect"):
        yield from _words_behind(inner)


def _is_of_command(parent: "Node") -> bool:
    """Return True if a redirection below *parent* is that of one simple command."""
    if parent.type != "redirected_statement":
        return parent.type in _COMMANDS
    body = parent.child_by_field_name("body")
    return body is not None and body.type in _COMMANDS


_BUILTINS: Final = frozenset(("declaration_command", "unset_command"))


def _words_of(node: "Node") -> list[Word]:
    """Return the words of an argument; a test such as `-f x` has several."""
    if node.type.endswith("_expression") and node.type != "brace_expression":
        return [word for child in node.children for word in _words_of(child)]
    return [word_of(node)]


def _assignment(node: "Node") -> tuple[str, Word]:
    name, *signs = node.children
    value = node.child_by_field_name("value")
    word = word_of(value) if value else Word("")
    if any(each.type == "+=" for each in signs):
        word = Word(f"${{{text_of(name)}}}{word.text}", is_computed=True)
    return text_of(name), word


def _redirect(node: "Node") -> Redirect:
    signs = (each for each in node.children if not each.is_named or "descriptor" in each.type)
    target = node.child_by_field_name("destination") if node.type == "file_redirect" else None
    return Redirect("".join(map(text_of, signs)), word_of(target) if target else None)


def _quoted_scripts(command: Command) -> Iterator[str]:
    """Yield the scripts that a command gives to a shell; what is computed stands as written."""
    for words in command.started:
        name = program_of(words)
        if name == "eval":
            yield " ".join(word.text for word in words[1:])
        elif name in programs.SHELLS:
            yield from command.documents
            options = (at for at, word in enumerate(words) if _TAKES_SCRIPT.match(word.text))
            behind = words[next(options, len(words)) + 1 :]
            yield from [word.text for word in behind if word.text[:1] not in {"-", "+"}][:1]
