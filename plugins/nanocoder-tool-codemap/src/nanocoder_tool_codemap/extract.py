"""Read a file of code: its definitions, its imports and its words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tree_sitter import QueryCursor

from nanocoder_tool_codemap.languages import CONTAINERS, Grammar
from nanocoder_tool_codemap.record import Definition, Record, make_record

MAX_WORDS = 4_000
MAX_SIGNATURE_CHARS = 120
MAX_NESTED = 20
_WORD = re.compile(rb"[$_a-zA-Z\x80-\xff][$\w\x80-\xff]*")
_FROM = re.compile(r"from\s*(\.*[\w.]*)\s*import\s*(.*)", re.DOTALL)
_AS = re.compile(r"\s+as\s+\w+")
_NOT_KINDS = frozenset({"import", "noise", "_call"})


def extract(language: str, data: bytes, grammar: Grammar) -> Record:
    """Read *data*; parts that the grammar does not understand are left out."""
    captures = capture_nodes(data, grammar)
    return make_record(
        language,
        data.count(b"\n") + (not data.endswith(b"\n") and data != b""),
        _definitions(data, captures),
        dict.fromkeys(_imports(language, captures.get("import", ()))),
        find_words(data, captures.get("noise", ())),
    )


def capture_nodes(data: bytes, grammar: Grammar) -> Mapping[str, Sequence[Any]]:
    """Parse *data* and return the nodes that the query of its language names."""
    tree = grammar.parser.parse(data)
    captures: Mapping[str, Sequence[Any]] = QueryCursor(grammar.query).captures(tree.root_node)
    return captures


def blank_out(data: bytes, noise: Iterable[Any]) -> bytes:
    """Return *data* with blanks for comments and strings; line ends stay."""
    spans = sorted((node.start_byte, node.end_byte) for node in noise)
    pieces, position = [], 0
    for start, end in spans:
        if start < position:
            continue
        gap = data[start:end]
        lines = gap.split(b"\n")
        pieces += [data[position:start], b"\n".join(b" " * len(line) for line in lines)]
        position = end
    return b"".join([*pieces, data[position:]])


def find_words(data: bytes, noise: Iterable[Any]) -> frozenset[str]:
    """Return the names in *data* outside *noise*."""
    pieces, position = [], 0
    for start, end in sorted((node.start_byte, node.end_byte) for node in noise):
        if start >= position:
            pieces.append(data[position:start])
            position = end
    names = dict.fromkeys(_WORD.findall(b" ".join([*pieces, data[position:]])))
    words = (word.decode("utf-8", "replace") for word in list(names)[:MAX_WORDS])
    return frozenset(word for word in words if len(word) > 1)


def _definitions(data: bytes, captures: Mapping[str, Sequence[Any]]) -> tuple[Definition, ...]:
    nodes = [
        (node.parent, node, kind)
        for kind, captured in captures.items()
        if kind not in _NOT_KINDS
        for node in captured
        if node.parent is not None
    ]
    nodes.sort(key=lambda entry: (entry[0].start_byte, -entry[0].end_byte))
    lines = data.split(b"\n")
    around: list[tuple[int, str, str]] = []  # where it ends, its name, its kind
    result = []
    for definition, node, kind in nodes:
        while around and around[-1][0] <= definition.start_byte:
            around.pop()
        name = (node.text or b"").decode("utf-8", "replace")
        name = _strip_type(name) if kind == "impl" else name
        parent = around[-1] if around else (0, "", "")
        inside = kind == "function" and parent[2] in CONTAINERS
        result.append(
            Definition(
                name,
                "method" if inside else kind,
                node.start_point.row + 1,
                definition.end_point.row + 1,
                len(around),
                parent[1] or _receiver(definition),
                _signature(lines[node.start_point.row]),
            )
        )
        around.append((definition.end_byte, name, kind))
    return tuple(result)


def _strip_type(name: str) -> str:
    """Return the name of a type without its module and its parameters: a::Part<T> is Part."""
    return re.split(r"<|\[", name)[0].rpartition("::")[2].strip("*& ")


def _receiver(definition: Any) -> str:
    """Return the type that a Go method belongs to; "" for other definitions."""
    if definition.type != "method_declaration":
        return ""
    receiver = definition.child_by_field_name("receiver")
    text = (receiver.text or b"").decode("utf-8", "replace").strip("() ") if receiver else ""
    words = text.partition("[")[0].split()
    return _strip_type(words[-1]) if words else ""


def _signature(line: bytes) -> str:
    text = " ".join(line.decode("utf-8", "replace").split())
    return text[:MAX_SIGNATURE_CHARS].rstrip(" {:(")


def _imports(language: str, nodes: Iterable[Any]) -> Iterable[str]:
    for node in nodes:
        text = (node.text or b"").decode("utf-8", "replace")
        if language == "python":
            yield from _python_imports(text)
        elif language == "rust":
            yield from _rust_uses("".join(_AS.sub("", text).split()))
        else:
            yield text.strip("\"'`")


def _rust_uses(text: str, depth: int = 0) -> Iterable[str]:
    """Return one path for each name: a::{b, c::{d}} is a::b and a::c::d."""
    head, brace, rest = text.partition("{")
    if not brace or depth == MAX_NESTED:
        yield head
        return
    open_braces, start = 0, 0
    for end, letter in enumerate(rest):
        if letter in ",}" and not open_braces:
            if start < end:
                yield from (head + path for path in _rust_uses(rest[start:end], depth + 1))
            start = end + 1
        open_braces += (letter == "{") - (letter == "}")
        if open_braces < 0:
            return


def _python_imports(text: str) -> Iterable[str]:
    """Yield "module" for each imported module, or "module:names" for names from it."""
    match = _FROM.match(text)
    if match:
        names = re.findall(r"(\w+)(?:\s+as\s+\w+)?", match[2].partition("#")[0])
        yield f"{match[1]}:{','.join(names)}"
        return
    for part in text.removeprefix("import").split(","):
        name = part.split()
        if name:
            yield name[0]
