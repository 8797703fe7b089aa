"""The words of shell text: what of each is literal, and what the shell computes."""

import glob
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from attrs import frozen

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_EXPANDED: Final = 1_000
KEYWORDS: Final = frozenset(("[", "[[", "]", "]]"))
_WILDCARDS: Final = frozenset("*?[")
_PLAIN: Final = re.compile(r"[\w.,:/%@+=-]+", re.ASCII)
_QUOTING: Final = re.compile(r"[\[\\'\"]")
_HOME: Final = re.compile(r"~[\w.+-]*")
# Tree-sitter takes two words for what bash joins by a line's end. For it a line that begins with a
# backslash goes on the one before; so does such a tab. A blank with a backslash is nothing there
# before a comment, and at either end of a command.
MISREAD: Final = re.compile(
    r"(?<![\s\\])(?:\\\\)*\\\n(?![ \t]+[\w./-])|\n[ \t]*\\|\\[\t\f\v\r]|(?:^|[;&|(\n])\s*\\ "
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


class Expansion(NamedTuple):
    """A part of a word that the shell computes: `${name operator default}`, or "" for others.

    A home has the name with which it is written, as `~` or `~root`.
    """

    name: str = ""
    operator: str = ""
    default: str = ""


BRACES: Final = Expansion("{")
"""The part by which a word says that it stands for several: `{a,b}` is among its literal parts."""


@frozen(slots=False)
class Word:
    """One word: its *parts*, and *text* with quotes removed and expansions as they are written."""

    text: str
    parts: tuple[str | Expansion, ...]
    has_glob: bool = False
    is_plain_glob: bool = True

    @cached_property
    def is_literal(self) -> bool:
        """Tell whether the shell passes the word on as *text*."""
        return not self.has_glob and all(isinstance(part, str) for part in self.parts)

    @cached_property
    def is_computed(self) -> bool:
        """Tell whether a part of the word is known only when the command runs."""
        return any(not isinstance(part, str) for part in self.parts)


def is_cut_otherwise(node: "Node") -> bool:
    """Tell whether the words of a command, or the parts of one, are cut where bash does not do so.

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
        return Word(source, (source,))
    text, parts, has_glob = "", list[str | Expansion](), False
    for part, is_quoted in _parts(node):
        if isinstance(part, str) and not is_quoted:
            home = _HOME.match(part) if not parts else None
            parts += [Expansion(home[0])] if home else []
            has_glob = has_glob or not _WILDCARDS.isdisjoint(_ESCAPED.sub("", part))
            literal = _ESCAPED.sub(r"\1", part.replace("\\\n", ""))
            parts.append(literal.removeprefix(home[0]) if home else literal)
            text += literal
            continue
        parts.append(part)
        text += part if isinstance(part, str) else _source_of(part)
    # `{a,b}` becomes several words, which is not the text that stands there.
    if not is_in_quotes(node) and _has_braces(source):
        parts.append(BRACES)
    is_plain = not _QUOTING.search(source)
    return Word(text, tuple(parts), has_glob and text not in KEYWORDS, is_plain)


def is_in_quotes(node: "Node") -> bool:
    """Tell whether a whole word is in quotes."""
    return node.type in {"raw_string", "string"}


def _has_braces(text: str) -> bool:
    return "{" in text and ("," in text or ".." in text) and "${" not in text


def _source_of(expansion: Expansion) -> str:
    if not expansion.name:
        return "$(…)"
    if expansion.name.startswith("~"):
        return expansion.name
    return f"${{{expansion.name}{expansion.operator}{expansion.default}}}"


def _parts(node: "Node") -> Iterator[tuple[str | Expansion, bool]]:
    """Yield the literal and the computed parts of a word, and whether each is in quotes."""
    match node.type:
        case "command_name" | "concatenation":
            for child in node.children:
                yield from _parts(child)
        case "raw_string":
            yield text_of(node)[1:-1], True
        case "string":
            yield from _parts_in_quotes(node)
        case "simple_expansion":
            yield Expansion(text_of(node)[1:]), False
        case "expansion":
            yield _expansion(node), False
        case "command_substitution" if (document := _quoted_document(node)) is not None:
            yield document, True
        case "command_substitution" | "process_substitution" | "arithmetic_expansion" | "array":
            yield Expansion(), False
        case "ansi_c_string" | "translated_string" | "brace_expression":
            yield Expansion(), True
        case _:
            yield text_of(node), False


def _parts_in_quotes(node: "Node") -> Iterator[tuple[str | Expansion, bool]]:
    source, at = node.text or b"", 1
    for child in node.children[1:-1]:
        start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        if start > at:  # blanks that the grammar leaves out
            yield source[at:start].decode(errors="replace"), True
        at = end
        if child.type == "string_content":
            yield _ESCAPED_IN_QUOTES.sub(_unescaped, text_of(child)), True
        else:
            yield from ((part, True) for part, _ in _parts(child))
    if rest := source[at:-1].decode(errors="replace"):
        yield _ESCAPED_IN_QUOTES.sub(_unescaped, rest), True


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


def _expansion(node: "Node") -> Expansion:
    names = [text_of(child) for child in node.children if child.type == "variable_name"]
    if not names:
        return Expansion()
    inner = text_of(node)[2:-1].removeprefix(names[0])
    operator = re.match(r":?[-=?+]|", inner)
    length = operator.end() if operator else 0
    return Expansion(names[0], inner[:length], inner[length:])


def text_of(node: "Node") -> str:
    """Return the source of a node."""
    return (node.text or b"").decode(errors="replace")


def expand(words: Iterable[Word], folder: str, *, is_exact: bool) -> list[str] | None:
    """Return *words* with the globs expanded as the shell does; None for too many names.

    With *is_exact* it is also None for a glob that Python may read otherwise than the shell.
    """
    expanded = list[str]()
    for word in words:
        if not word.has_glob:
            expanded.append(word.text)
            continue
        if is_exact and not word.is_plain_glob:
            return None
        names = [*islice(_matching(word.text, folder), MAX_EXPANDED + 1)]
        # A name that begins with "-" would become an option.
        if len(names) > MAX_EXPANDED or any(name.startswith("-") for name in names):
            return None
        expanded += sorted(names) or [word.text]
    return expanded


def _matching(pattern: str, folder: str) -> Iterator[str]:
    if "**" in pattern or "[[" in pattern:
        # One star for the shell, and classes that Python does not know.
        return iter([pattern] * (MAX_EXPANDED + 1))
    return glob.iglob(pattern, root_dir=folder)
