"""The parts of a command that have more than one meaning, or none that is certain."""

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from nanocoder_policy_shell import code_flow, programs
from nanocoder_policy_shell.syntax import descendants, encode, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_BY_TYPE: Final = {
    "command_substitution": "command-substitution",
    "process_substitution": "process-substitution",
    "heredoc_redirect": "here-document",
    "herestring_redirect": "here-string",
    "simple_expansion": "variable",
    "expansion": "variable",
    "arithmetic_expansion": "arithmetic",
    "ansi_c_string": "ansi-c-string",
    "translated_string": "variable",
    "brace_expression": "braces",
    "variable_assignment": "assignment",
    "declaration_command": "assignment",
    "unset_command": "assignment",
    "subshell": "subshell",
    "compound_statement": "group",
    "for_statement": "loop",
    "c_style_for_statement": "loop",
    "while_statement": "loop",
    "if_statement": "condition",
    "case_statement": "case",
    "function_definition": "function",
    "test_command": "test",
    "negated_command": "negation",
    "comment": "comment",
    "&": "background",
    "|&": "sign",
    "ERROR": "syntax",
}
_COMPUTED: Final = frozenset(
    ("command_substitution", "process_substitution", "simple_expansion", "expansion")
)
_QUOTED: Final = frozenset(("string", "raw_string", "ansi_c_string", "concatenation"))
_HARMLESS: Final = re.compile(r"2?>\s*/dev/null|2>&1")
_NETWORK_FILE: Final = re.compile(r"/dev/(?:tcp|udp)/")
_UNPLAIN: Final = re.compile(r"[^A-Za-z0-9_@%+=:,./^~-]")
_UNPLAIN_IN_QUOTES: Final = re.compile(r"[\\!]")
_BY_SIGN: Final = {"\\": "escape", "*": "wildcard", "?": "wildcard", "[": "wildcard", "{": "braces"}
_HIDDEN: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn"))
_BLANKS: Final = "\n\t"


class Part(NamedTuple):
    """A part of a command: its *kind*, where it starts and ends, and its text."""

    kind: str
    start: int
    end: int
    text: str


def parts_of(text: str, root: "Node") -> list[Part]:
    """Return the parts in the order of the text, those inside of others included."""
    place = _Places(text)
    parts = [place.part(kind, node) for kind, node in _kinds(root)]
    parts += hidden_parts(text)
    parts += (Part("network-file", *it.span(), it[0]) for it in _NETWORK_FILE.finditer(text))
    parts += (place.part(kind, node) for kind, node in code_flow.unread_code(root))
    parts += (
        Part("newline", at, at + 1, "\n")
        for at, character in enumerate(text.rstrip())
        if character == "\n"
    )
    if not text.isascii():
        at = next(at for at, character in enumerate(text) if not character.isascii())
        parts.append(Part("not-ascii", at, at + 1, text[at]))
    return sorted(parts, key=lambda part: (part.start, -part.end))


def hidden_parts(text: str) -> Iterator[Part]:
    """Yield the characters that cannot be seen."""
    if text.isascii() and text.isprintable():
        return
    for at, character in enumerate(text):
        if unicodedata.category(character) in _HIDDEN and character not in _BLANKS:
            yield Part("hidden-characters", at, at + 1, f"\\u{ord(character):04x}")


def outermost(parts: list[Part]) -> list[Part]:
    """Return *parts* without those that lie inside of others."""
    outer = list[Part]()
    for part in parts:
        if not outer or part.start >= outer[-1].end:
            outer.append(part)
    return outer


class _Places:
    """The places of nodes as characters: the parser counts bytes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._source = b"" if text.isascii() else encode(text)

    def part(self, kind: str, node: "Node") -> Part:
        start, end = map(self._character, (node.start_byte, node.end_byte))
        return Part(kind, start, end, self._text[start:end])

    def _character(self, byte: int) -> int:
        if not self._source:
            return byte
        return len(self._source[:byte].decode(errors="replace"))


def _kinds(root: "Node") -> "Iterator[tuple[str, Node]]":
    for node in descendants(root):
        for kind in filter(None, (_kind(node), _kind_of_command(node))):
            yield kind, node


def _kind(node: "Node") -> str:
    """Return what a node is, "" where nothing is special."""
    if node.is_missing:
        return "syntax"
    special = _OF_TYPE.get(node.type)
    return special(node) if special else _BY_TYPE.get(node.type, "")


def _kind_of_concatenation(node: "Node") -> str:
    return "braces" if any(text_of(each) == "{" for each in node.children) else ""


def _kind_of_quoted(node: "Node") -> str:
    text = text_of(node)
    if "\n" in text:
        return "newline"
    if node.type == "raw_string" or not _UNPLAIN_IN_QUOTES.search(text):
        return ""
    return "escape" if "\\" in text else "sign"


def _kind_of_redirection(node: "Node") -> str:
    if _HARMLESS.fullmatch(text_of(node)):
        return ""
    is_computed = any(each.type in _COMPUTED for each in descendants(node))
    return "redirection-to-variable" if is_computed else "redirection"


def _kind_of_word(node: "Node") -> str:
    word = "" if node.children else text_of(node)
    if word.startswith("~"):
        return "home"
    sign = _UNPLAIN.search(word)
    if sign is None or not sign[0].isascii():
        return ""
    return _BY_SIGN.get(sign[0], "sign")


def _kind_of_command(node: "Node") -> str:
    """Return what the name of a command says of it."""
    if node.type != "command_name":
        return ""
    if any(each.type in _COMPUTED for each in descendants(node)):
        return "computed-program"
    name = programs.name_of(text_of(node))
    if name in programs.EVALUATING:
        return "eval"
    if name in programs.WRAPPERS:
        return "wrapper"
    is_quoted = bool(node.children) and node.children[0].type in _QUOTED
    return "quoted-program" if is_quoted else ""


_OF_TYPE: Final = {
    "concatenation": _kind_of_concatenation,
    "file_redirect": _kind_of_redirection,
    "number": _kind_of_word,
    "raw_string": _kind_of_quoted,
    "special_character": _kind_of_word,
    "string_content": _kind_of_quoted,
    "word": _kind_of_word,
}
