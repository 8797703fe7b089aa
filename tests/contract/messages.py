"""Print every sentence of the source that a person or a model may read, to read them in one go.

    python tests/contract/messages.py

A sentence is a string of three words or more that is no docstring, no type and no pattern:
messages, descriptions of tools and settings, prompts. What is filled in at run time is shown as
{…}, and something else has to stand beside it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import repository

SENTENCE = re.compile(r"[A-Za-z{][^\s]*(?:\s+[^\s]+){2,}")
PATTERN_SIGNS = ("(?:", "(?P", "\\s", "\\d", "\\b", "[^", "\x1b", ".*")


def page() -> str:
    """Return the sentences as Markdown, a section for each package."""
    lines = []
    for package in repository.packages():
        sentences = [line for each in package.sources for line in package_sentences(each)]
        if sentences:
            lines += [f"## {package.name}", "", *sentences, ""]
    return "\n".join(lines)


def package_sentences(folder: Path) -> Iterator[str]:
    """Yield the sentences of one package, a heading before those of each file."""
    for path in sorted(folder.rglob("*.py")):
        sentences = list(dict.fromkeys(file_sentences(repository.tree(path))))
        if sentences:
            yield f"- {path.relative_to(folder)}"
            yield from (f"  - {sentence}" for sentence in sentences)


def file_sentences(tree: ast.Module) -> Iterator[str]:
    """Yield each sentence of a module, in the order of the source."""
    skipped = {id(node) for node in docstrings(tree)} | set(inner_strings(tree)) | set(types(tree))
    for node in ast.walk(tree):
        if id(node) not in skipped and (text := text_of(node)) and is_sentence(text):
            yield " ".join(text.split())


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield every string that stands by itself: docstrings, and notes below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def inner_strings(tree: ast.Module) -> Iterator[int]:
    """Yield the ids of the strings inside an f-string, which is shown as a whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from (id(part) for part in ast.walk(node) if part is not node)


def types(tree: ast.Module) -> Iterator[int]:
    """Yield the ids of the strings that are the types of parameters, results and names."""
    for node in ast.walk(tree):
        notes = [getattr(node, name, None) for name in ("annotation", "returns")]
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("cast", "TypeVar"):
            notes += node.args
        for note in filter(None, notes):
            # Only a type that is a string as a whole: Annotated has descriptions in it.
            yield from (id(note),) if isinstance(note, ast.Constant) else ()


def text_of(node: ast.AST) -> str:
    """Return what a string or an f-string says, "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{…}" for part in node.values)
        return "".join(map(str, parts))
    return ""


def is_sentence(text: str) -> bool:
    """Tell words from patterns, code and tables."""
    has_letters = any(letter.isalpha() for letter in text.replace("{…}", ""))
    return (
        has_letters
        and bool(SENTENCE.search(text))
        and not any(sign in text for sign in PATTERN_SIGNS)
    )


if __name__ == "__main__":
    print(page())
