"""A Jupyter notebook as the text that models read and edit: the sources of its cells."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from attrs import field, frozen
from nanocoder import ToolError

from nanocoder_kit_files.text.text_files import TextFile, encode

ENDING = ".ipynb"
MINOR_WITH_IDS = 5
MAX_SUMMARY = 80
_HEADING = r"(?m)^\[cell (\d+|new): (code|markdown|raw)(?:,.*)?\]$"
_INDENT = r"\s*\{\r?\n([ \t]+)"


@frozen(slots=False)
class Notebook:
    """A notebook *file*; *data* is its JSON, *text* its cells below headings, without outputs.

    A heading is `[cell 2: code, id ab12]`. In an edited text a new cell has the heading
    `[cell new: code]`, and a cell without its heading is deleted.
    """

    file: TextFile
    data: Mapping[str, Any] = field(repr=False)

    @property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        """The cells in their order."""
        cells: Sequence[Mapping[str, Any]] = self.data["cells"]
        return cells

    @cached_property
    def text(self) -> str:
        """The headings and sources, each line ended."""
        return "".join(_show_cell(number, cell) for number, cell in enumerate(self.cells, 1))

    def is_in_heading(self, text: str, start: int, end: int) -> bool:
        """Return True if *start* to *end* of the edited *text* is a part of one heading."""
        line, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        is_part = end <= line_end and (start, end) != (line, line_end)
        return is_part and re.match(_HEADING, text[line:line_end]) is not None

    def encode(self, text: str) -> bytes:
        """Return the bytes of the notebook with the cells of the edited *text*.

        All else stays, outputs too. Raises: ToolError (invalid_arguments) for headings in disorder.
        """
        cells = [self._cell(*part) for part in _parts(text)]
        numbers = [number for number, *_ in _parts(text) if number != "new"]
        if len({*numbers}) < len(numbers):
            raise _invalid("a cell stands there twice; give the copy the heading [cell new: code]")
        changed = json.dumps({**self.data, "cells": cells}, **self._style())
        tail = self.file.text[len(self.file.text.rstrip()) :]
        return encode(changed + tail, self.file)

    def _cell(self, number: str, kind: str, source: str) -> Mapping[str, Any]:
        if number == "new":
            has_ids = int(self.data.get("nbformat_minor", 0)) >= MINOR_WITH_IDS
            return _of_kind({"id": _new_id()} if has_ids else {}, kind, _lines(source))
        if not 0 < int(number) <= len(self.cells):
            raise _invalid(f"there is no cell {number}; a new one has the heading [cell new: code]")
        cell = self.cells[int(number) - 1]
        is_list = isinstance(cell["source"], list)
        lines = _lines(source) if is_list else source
        if kind != cell["cell_type"]:
            return _of_kind(cell, kind, lines)
        return cell if source == _joined(cell["source"]) else {**cell, "source": lines}

    def _style(self) -> dict[str, Any]:
        """Return the file's formatting, as arguments of `json.dumps`."""
        indent = re.match(_INDENT, self.file.text)
        separators = (
            (",", ": ") if indent else (", ", ": ") if '": ' in self.file.text else (",", ":")
        )
        is_ascii = self.file.text.isascii()
        return {"indent": indent and indent[1], "separators": separators, "ensure_ascii": is_ascii}


def notebook_of(file: TextFile) -> Notebook | None:
    """Return *file* as a notebook, or None if it is none or would not round-trip."""
    if not file.path.endswith(ENDING):
        return None
    try:
        notebook = Notebook(file, json.loads(file.text))
        sources = [_joined(cell["source"]) for cell in notebook.cells]
        is_sound = [source for *_, source in _parts(notebook.text)] == sources
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ToolError):
        return None
    return notebook if is_sound else None


def _parts(text: str) -> list[tuple[str, str, str]]:
    """Cut an edited text into number, kind and source of each cell."""
    headings = list(re.finditer(_HEADING, text))
    if text and (not headings or headings[0].start()):
        raise _invalid("it no longer begins with the heading of a cell, as [cell new: code]")
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return [
        (heading[1], heading[2], text[heading.end() + 1 : end].removesuffix("\n"))
        for heading, end in zip(headings, ends, strict=False)
    ]


def _show_cell(number: int, cell: Mapping[str, Any]) -> str:
    source = _joined(cell["source"])
    identity = f", id {cell['id']}" if "id" in cell else ""
    outputs = ", ".join(filter(None, map(_summary, cell.get("outputs", ()))))
    left_out = f", output left out: {outputs}" if outputs else ""
    heading = f"[cell {number}: {cell['cell_type']}{identity}{left_out}]\n"
    return heading + (f"{source}\n" if source else "")


def _summary(output: Mapping[str, Any]) -> str:
    if "ename" in output:
        return " ".join(f"{output['ename']}: {output.get('evalue', '')}".split())[:MAX_SUMMARY]
    data = output.get("data", {})
    text = _joined(output.get("text", data.get("text/plain", "")))
    media = [name for name in data if not name.startswith("text/")]
    count = len(text.splitlines())
    return ", ".join([*media, *([f"{count} line{'s' * (count != 1)}"] if count else ())])


def _of_kind(cell: Mapping[str, Any], kind: str, source: Sequence[str]) -> dict[str, Any]:
    common = {name: value for name, value in cell.items() if name in {"id", "metadata"}}
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    cell = {"metadata": {}, **common, "cell_type": kind, "source": source, **code}
    return dict(sorted(cell.items()))  # as Jupyter writes them


def _new_id() -> str:
    return os.urandom(4).hex()


def _lines(source: str) -> list[str]:
    """Cut *source* at newlines only, which stay; splitlines would also cut at form feeds."""
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def _joined(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value)


def _invalid(problem: str) -> ToolError:
    return ToolError(f"the notebook was not changed: {problem}", error_class="invalid_arguments")
