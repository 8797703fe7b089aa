"""Names that say what they hold, and sentences with the subject first, in everything we install."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
import repository

# fmt: off
VAGUE = frozenset({
    "about", "asked", "done", "found", "given", "heard", "held", "kept", "known", "left",
    "made", "meant", "one", "said", "seen", "shown", "taken", "told", "wanted", "whole",
    "written", "wrong",
})
# fmt: on
# A docstring that begins so names a question, not the thing that is returned or defined.
QUESTION = re.compile(
    r"(Return|Yield|Say|Tell|Note) (what|which|whether|how|where|who|whose|why)\b"
    r"|(What|Which|Whether|How|Where|Who|Whose|Why|That which)\b"
)
SENTENCE_ENDS = re.compile(r"(?<=[.!?:])\s+|\n\s*\n|\n\s*[-*] ")
RIDDLES = (
    re.compile(r"(Who|Whoever|Of)\b(?!.*\?$)", re.DOTALL),
    re.compile(r"What\b(?!.*\?$).*\b(is|are)\b", re.DOTALL),
    re.compile(
        r".*\b(whoever|whomever|mend|mends|mended"
        r"|(set|put)s? aside|directory handles?|argument vectors?)\b",
        re.DOTALL | re.IGNORECASE,
    ),
)


def is_event(node: ast.AST | None) -> bool:
    """Tell an `Event()` or the annotation `Event`: `done` is the field's word for one."""
    if isinstance(node, ast.Call):
        return is_event(node.func)
    return ast.unparse(node).endswith("Event") if node is not None else False


def bound_names(scope: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield every variable, field and parameter that a file gives a name to."""
    events = set[ast.AST]()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and (
            is_event(node.value) or is_event(getattr(node, "annotation", None))
        ):
            events.update(ast.walk(node))
        if isinstance(node, ast.arg) and not is_event(node.annotation):
            yield node.arg, node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in events:
            yield node.id, node


def vague_names(tree: ast.Module) -> Iterator[str]:
    names = [(name.lstrip("_"), node) for name, node in bound_names(tree)]
    # `left` and `right` are the two sides of an operation, `left` alone is what remains.
    has_sides = any(name == "right" for name, _ in names)
    for name, node in names:
        if name in VAGUE and not (name == "left" and has_sides):
            yield f"{getattr(node, 'lineno', 0)}: {name}"


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield each docstring, message and block of comments with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    numbered = ((token.start[0] - index, token) for index, token in enumerate(comments))
    for _, block in groupby(numbered, key=lambda pair: pair[0]):
        lines = [token for _, token in block]
        yield lines[0].start[0], "\n".join(token.string.lstrip("# ") for token in lines)


def riddles(source: str) -> Iterator[str]:
    for line, text in texts(source):
        for sentence in SENTENCE_ENDS.split(text):
            if any(pattern.match(sentence.strip()) for pattern in RIDDLES):
                yield f"{line}: {' '.join(sentence.split())}"


def question_docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield each docstring that begins with a question, those below a constant too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str) and QUESTION.match(text.lstrip()):
                yield f"{node.lineno}: {text.splitlines()[0]}"


def vague_functions(tree: ast.Module) -> Iterator[str]:
    """Yield functions with such a name: a function is a verb, and a participle is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.lstrip("_") in VAGUE:
            yield f"{node.lineno}: {node.name}()"


def complaints(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    for complaint in (*vague_names(repository.tree(path)), *riddles(source)):
        yield f"{repository.shown(path)}:{complaint}"


def owner(package: repository.Package) -> str:
    """Return whose figure a package counts for: the core's distributions share one."""
    return package.label.split("/")[0] if package.label.startswith("core") else package.name


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one = 1", ["1: one"]),
        ("def read(told): ...", ["1: told"]),
        ("for _kept in (): ...", ["1: _kept"]),
        ("done = threading.Event()", []),
        ("left, right = 1, 2", []),
        ("left = 1", ["1: left"]),
    ],
)
def test_a_name_is_vague_unless_it_is_the_word_of_the_field(source, expected):
    assert [name.replace("kept", "_kept") for name in vague_names(ast.parse(source))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Of nothing there is no part.", 1),
        ("# Good. Whoever waits,\n# goes on.", 1),
        ('"""What a tool says is read."""', 1),
        ('"""What a tool says."""', 0),
        ("f'{path} is damaged: mend it'", 1),
        ("# A plugin that fails is set aside.", 1),
        ('"Who may read this?"', 0),
        ("# Recommended.", 0),
    ],
)
def test_a_sentence_has_its_subject_first(text, expected):
    assert len(list(riddles(text))) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""What a tool returns."""', 1),
        ('def ask():\n    """Return whether it is."""', 1),
        ('WIDTH = 3\n"""How wide it is."""', 1),
        ('def ask():\n    """Say why not."""', 1),
        ('def ask():\n    """Tell whether it is."""', 1),
        ('def ask():\n    """Return True if it is."""', 0),
        ('x = "What is it?"', 0),
    ],
)
def test_a_docstring_names_the_thing_not_a_question(source, expected):
    assert len(list(question_docstrings(ast.parse(source)))) == expected


def test_no_docstring_begins_with_a_question_but_those_that_are_listed():
    allowed = {entry["package"]: entry["count"] for entry in repository.exceptions("openings")}
    for package in repository.packages():
        questions = [
            f"{repository.shown(path)}:{line}"
            for path in package.files
            for line in question_docstrings(repository.tree(path))
        ]
        assert len(questions) == allowed.get(package.name, 0), "\n".join(questions)


def test_names_and_sentences_are_plain_but_for_the_figures_that_are_listed():
    allowed = {entry["package"]: entry["count"] for entry in repository.exceptions("words")}
    actual = Counter[str]()
    listing = dict[str, list[str]]()
    for package in repository.packages():
        for path in package.files:
            listing.setdefault(owner(package), []).extend(complaints(path))
    actual.update({name: len(lines) for name, lines in listing.items()})
    worse = {name: count for name, count in actual.items() if count > allowed.get(name, 0)}
    assert not worse, "\n".join(line for name in worse for line in listing[name])


def test_pages_have_no_word_that_a_plainer_one_can_replace():
    plain = RIDDLES[-1]
    pages = (path for path in repository.tracked() if path.suffix == ".md")
    worse = [
        f"{repository.shown(path)}:{number}: {line.strip()}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if plain.match(line)
    ]
    assert not worse, "\n".join(worse)


def test_a_package_without_a_figure_has_no_vague_function_either():
    listed = {entry["package"] for entry in repository.exceptions("words")}
    vague = [
        f"{repository.shown(path)}:{function}"
        for package in repository.packages()
        if owner(package) not in listed
        for path in package.files
        for function in vague_functions(repository.tree(path))
    ]
    assert not vague, "\n".join(vague)
