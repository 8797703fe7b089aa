"""The words of shell text: what of each is literal, and what the shell computes."""

import glob
import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_EXPANDED: Final = 1_000
MAX_LISTED: Final = 20
MAX_PATTERN: Final = 4_096
"""The longest word with wildcards that is expanded, in characters, as the longest path is."""
KEYWORDS: Final = frozenset(("[", "[[", "]", "]]"))
_WILDCARDS: Final = frozenset("*?[")
_PLAIN: Final = re.compile(r"[\w.,:/%@+=-]+", re.ASCII)
# Tree-sitter takes two words for what bash joins by a line's end. For it a line that begins with a
# backslash goes on the one before; so does such a tab. A blank with a backslash is nothing there
# before a comment, and at either end of a command.
MISREAD: Final = re.compile(
    r"(?<![\s\\])(?:\\\\)*\\\n(?![ \t]+[\w./-])|\n[ \t]*\\|\\[\t\f\v\r]|(?:^|[;&|(\n])[^\S\n]*\\ "
    r"|\\ \S*#|\\ [ \t]*(?:[#;&|()<>\n]|\\\n|\Z)"
)
CUT: Final = frozenset(("command", "concatenation"))
REDIRECTS: Final = frozenset(("file_redirect", "herestring_redirect", "heredoc_redirect"))
_OPERATORS: Final = frozenset(("==", "=~"))
_BLANK: Final = re.compile(rb"(?<!\\)[ \t\n]")
_BETWEEN_WORDS: Final = re.compile(rb"(?:\\\n)*[ \t](?:[ \t]|\\\n)*")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
# In double quotes a backslash is itself before any other character.
_ESCAPED_IN_QUOTES: Final = re.compile(r"\\([$`\"\\\n])")


@frozen
class Word:
    """One word: *text* without quotes; what the shell computes is in it as `${NAME}` or `$(…)`."""

    text: str
    is_computed: bool = False
    has_glob: bool = False

    @property
    def is_literal(self) -> bool:
        """Return True if the shell passes the word on as *text*."""
        return not (self.is_computed or self.has_glob)


COMPUTED: Final = Word("$(…)", is_computed=True)


def is_cut_otherwise(node: "Node") -> bool:
    """Return True if the words of a command, or parts of a word, are cut where bash cuts none.

    *node* is of one of the types in CUT.
    """
    source, last = node.text or b"", None
    start, is_whole = node.start_byte, node.type == "concatenation"
    for child in node.children:
        kind, at, end = child.type, child.start_byte - start, child.end_byte - start
        if kind == "word" and _BLANK.search(source, at, end):
            return True
        if kind in _OPERATORS and not is_whole:  # bash reads a word there
            return True
        if kind in REDIRECTS:
            last = None
            continue
        gap = source[end if last is None else last : at]
        if last is not None and (gap if is_whole else not _BETWEEN_WORDS.fullmatch(gap)):
            return True
        last = end
    return False


def word_of(node: "Node") -> Word:
    """Return the word that a node of the syntax tree stands for."""
    source = text_of(node)
    if _PLAIN.fullmatch(source):
        return Word(source)
    parts = [*_parts(node)]
    text = "".join(part.text for part in parts)
    is_quoted = node.type in {"raw_string", "string"}
    # `~` becomes a home, and `{a,b}` several words, which is not the text that stands there.
    is_expanded = source.startswith("~") or (not is_quoted and _has_braces(source))
    has_glob = any(part.has_glob for part in parts) and text not in KEYWORDS
    return Word(text, is_expanded or any(part.is_computed for part in parts), has_glob)


def _has_braces(text: str) -> bool:
    return "{" in text and ("," in text or ".." in text) and "${" not in text


def _parts(node: "Node") -> Iterator[Word]:
    """Yield the literal and the computed parts of a word."""
    match node.type:
        case "command_name" | "concatenation":
            for child in node.children:
                yield from _parts(child)
        case "raw_string":
            yield Word(text_of(node)[1:-1])
        case "string":
            yield from _parts_in_quotes(node)
        case "simple_expansion":
            yield Word(f"${{{text_of(node)[1:]}}}", is_computed=True)
        case "expansion":
            yield Word(text_of(node), is_computed=True)
        case "command_substitution" if (document := _quoted_document(node)) is not None:
            yield Word(document)
        case "command_substitution" | "process_substitution" | "arithmetic_expansion" | "array":
            yield COMPUTED
        case "ansi_c_string" | "translated_string" | "brace_expression":
            yield COMPUTED
        case _:
            bare = text_of(node)
            has_glob = not _WILDCARDS.isdisjoint(_ESCAPED.sub("", bare))
            yield Word(_ESCAPED.sub(_unescaped, bare), has_glob=has_glob)


def _parts_in_quotes(node: "Node") -> Iterator[Word]:
    source, at = node.text or b"", 1
    for child in node.children[1:-1]:
        start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        if start > at:  # blanks that the grammar leaves out
            yield Word(source[at:start].decode(errors="replace"))
        at = end
        if child.type == "string_content":
            yield _in_quotes(text_of(child))
        else:
            yield from (evolve(part, has_glob=False) for part in _parts(child))
    yield _in_quotes(source[at:-1].decode(errors="replace"))


def _in_quotes(text: str) -> Word:
    return Word(_ESCAPED_IN_QUOTES.sub(_unescaped, text))


def _quoted_document(node: "Node") -> str | None:
    """Return the text of `$(cat <<'END' …)`, which is known; None for any other substitution."""
    inner = [child for child in node.children if child.is_named]
    if len(inner) != 1 or inner[0].type != "redirected_statement":
        return None
    command, *redirects = inner[0].children
    if text_of(command) != "cat" or len(redirects) != 1 or redirects[0].type != "heredoc_redirect":
        return None
    by_type = {child.type: text_of(child) for child in redirects[0].children}
    is_quoted = by_type.get("heredoc_start", "")[:1] in {"'", '"', "\\"}
    return by_type.get("heredoc_body", "").rstrip("\n") if is_quoted else None


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def text_of(node: "Node") -> str:
    """Return the source of a node."""
    return (node.text or b"").decode(errors="replace")


def expand(word: Word, folder: str) -> list[str]:
    """Return the files that a word with wildcards may stand for; the word as it is for none."""
    is_expanded = word.has_glob and len(word.text) <= MAX_PATTERN
    names = _matches(word.text, folder) if is_expanded else ()
    return sorted(islice(names, MAX_EXPANDED)) or [word.text]


def _matches(pattern: str, folder: str) -> Iterator[str]:
    """Yield the matches of *pattern* below *folder*, in a few directories of each depth."""
    above, name = os.path.split(pattern)
    parents = islice(_matches(above, folder), MAX_LISTED) if glob.has_magic(above) else (above,)
    for parent in parents:
        yield from glob.iglob(os.path.join(glob.escape(parent), name), root_dir=folder)
