"""Which rows of the contract a test meets: by marker, or by the id in its name (`test_ma_33_…`).

rows.txt has a line for each row: its id, the part of the contract, and what it asks, in our words.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import repository

# Rows of the five references have a dash; those of the comparison with other agents have none.
ROW = re.compile(r"(NT|LC|CO|MA|NA)-\d+[a-z]?|[A-Z]\d+")
IN_A_NAME = re.compile(r"(?:^|_)(nt|lc|co|ma|na)_?(\d+[a-z]?)(?=_|$)")


def rows() -> dict[str, str]:
    """Return each row's id with the part of the contract it belongs to."""
    text = (repository.ROOT / "tests/contract/rows.txt").read_text(encoding="utf-8")
    heads = (line.partition(": ")[0] for line in text.splitlines())
    return dict(head.split(maxsplit=1) for head in heads)


def met() -> dict[str, list[str]]:
    """Return each id that a test names, with the places that name it."""
    found: dict[str, list[str]] = {}
    for path in repository.python_files():
        if path.name.startswith("test_"):
            for line, row in _named_in(path):
                found.setdefault(row, []).append(f"{repository.shown(path)}:{line}")
    return found


def unmet() -> list[str]:
    """Return the ids that no test names, in the contract's order."""
    names = met()
    return [row for row in rows() if row not in names]


def report() -> str:
    """Return what is missing, part by part, and how much that is."""
    missing, parts = unmet(), rows()
    lines = [
        f"{part}: {' '.join(row for row in missing if parts[row] == part) or 'complete'}"
        for part in dict.fromkeys(parts.values())
    ]
    return "\n".join([*lines, f"{len(missing)} of {len(parts)} rows have no test"])


def _named_in(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(repository.tree(path)):
        if isinstance(node, ast.Call) and _is_contract_mark(node.func):
            values = (item.value for item in node.args if isinstance(item, ast.Constant))
            yield from ((node.lineno, str(value)) for value in values)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for part, number in IN_A_NAME.findall(node.name):
                yield node.lineno, f"{part.upper()}-{_padded(number)}"


def _is_contract_mark(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "contract"


def _padded(number: str) -> str:
    digits = number.rstrip("abcdefgh")
    return digits.zfill(2) + number[len(digits) :]
