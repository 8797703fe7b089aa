"""A page of HTML about results: one file that loads nothing and runs nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from nanocoder import __version__
from nanocoder_kit_ui.html import page_html, text_html

NUMBER: Final = re.compile(r"[$+-]?[\d,.]+( ?%| s)?")
SHORT_CHARS: Final = 24
"""Length up to which a word stays on one line."""
STYLE: Final = Path(__file__).with_name("page.css")


def page(title: str, lead: str, parts: Iterable[str]) -> str:
    """Return the page; *parts* are fragments of HTML below the *title* and the *lead*."""
    head = f'<h1>{text_html(title)}</h1><p class="lead">{text_html(lead)}</p>'
    footer = f"<footer>Written by nanocoder {__version__}.</footer>"
    return page_html(title, [STYLE], [head, *parts, footer]) + "\n"


def facts(rows: Mapping[str, str]) -> str:
    """Return figures, each with its name above it."""
    cells = (
        f"<div><dt>{text_html(name)}</dt><dd>{text_html(value)}</dd></div>"
        for name, value in rows.items()
    )
    return f"<dl>{''.join(cells)}</dl>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts."""
    head = "".join(f"<th>{text_html(cell)}</th>" for cell in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    if NUMBER.fullmatch(text):
        return f'<td class="number">{text_html(text)}</td>'
    is_short = len(text) <= SHORT_CHARS and " " not in text
    kind = ' class="short"' if is_short else ""
    return f"<td{kind}>{text_html(text)}</td>"
