"""A Jupyter notebook as the text that a person sees: cells and their text outputs."""

import json
from typing import Any

MAX_OUTPUT_CHARACTERS = 4_000


def to_text(source: str) -> str | None:
    """Return the cells of a notebook one after the other; None when *source* is no notebook."""
    try:
        cells = json.loads(source)["cells"]
        return "".join(_cell(number, cell) for number, cell in enumerate(cells, 1))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _cell(number: int, cell: Any) -> str:
    parts = [f"[cell {number}: {cell.get('cell_type', 'unknown')}]", _join(cell.get("source"))]
    outputs = "".join(_output(output) for output in cell.get("outputs", ()))
    if outputs:
        parts += [f"[cell {number}: output]", _shorten(outputs)]
    return "".join(part.rstrip("\n") + "\n" for part in parts)


def _output(output: Any) -> str:
    if "text" in output:
        return _line(_join(output["text"]))
    if "ename" in output:
        return f"{output['ename']}: {output.get('evalue', '')}\n"
    data = output.get("data", {})
    if "text/plain" in data:
        return _line(_join(data["text/plain"]))
    return "".join(f"[{media}]\n" for media in data)


def _join(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value or "")


def _line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _shorten(text: str) -> str:
    missing = len(text) - MAX_OUTPUT_CHARACTERS
    if missing <= 0:
        return text
    return f"{text[:MAX_OUTPUT_CHARACTERS]}\n[{missing:,} characters left out]"
