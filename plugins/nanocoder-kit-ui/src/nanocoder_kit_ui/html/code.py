"""Code and diffs, with syntax colours for common languages."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import PurePosixPath
from time import monotonic
from typing import Any, Final

from nanocoder import for_terminal
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from nanocoder_kit_ui.html.text import block_html, text_html

LANGUAGES: Final = {
    "bash": ("sh", "shell", "bash", "zsh"),
    "c": ("c", "h"),
    "cpp": ("cpp", "cc", "hpp"),
    "css": ("css",),
    "go": ("go", "golang"),
    "html": ("html", "htm"),
    "java": ("java",),
    "javascript": ("js", "jsx", "mjs", "javascript"),
    "json": ("json", "jsonl"),
    "python": ("py", "pyi", "python"),
    "rust": ("rs", "rust"),
    "sql": ("sql",),
    "toml": ("toml",),
    "typescript": ("ts", "tsx", "typescript"),
    "yaml": ("yaml", "yml"),
}
"""The lexers that are used, each with the names and the ends of file names it is known by."""
MAX_LINE: Final = 400
MAX_LINES: Final = 2_000
COLOUR_S: Final = 1.0
"""Timeout of a lexer, in seconds: hostile text could make its expressions take minutes."""
DIFF_LINES: Final = {"+++": "file", "---": "file", "@@": "hunk", "+": "add", "-": "del"}
HUNK: Final = re.compile(r"^@@ -\d", re.MULTILINE)
GROUPS: Final = ("k", "s", "c", "m")
"""Prefixes of Pygments' classes for keywords, strings, comments and numbers."""
NAMES: Final = frozenset({"fm", "nb", "nc", "nd", "nf", "nt", "ow"})

_NAMES: Final = {name: lexer for lexer, names in LANGUAGES.items() for name in names}

Colour = Callable[[str], str]


def code_html(code: str, language: str, until: float | None = None) -> str:
    """Return *code* with the colours of its *language*; without a known one, as escaped text.

    *until* is the monotonic time at which colouring ends, for several codes on one page.
    """
    lexer = _lexer(language.casefold())
    lines = code.split("\n")
    if lexer is None or len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE:
        return text_html(code)
    return _coloured(code, lexer, monotonic() + COLOUR_S if until is None else until)


def is_diff(text: str) -> bool:
    """Return True if *text* is or contains a unified diff."""
    return HUNK.search(text) is not None


def diff_html(text: str) -> str:
    """Return a unified diff as a block with one span for each line."""
    lines = text.strip("\n").split("\n")
    return f'<pre class="diff">{"".join(_diff_lines(lines))}</pre>'


def preview_html(text: str, path: str = "") -> str:
    """Return the preview of a call as a block: a diff, or the content of a file named *path*."""
    if is_diff(text):
        return diff_html(text)
    language = PurePosixPath(path).suffix.removeprefix(".")
    return f"<pre>{code_html(text, language)}</pre>" if language else block_html(text)


def _diff_lines(lines: list[str]) -> Iterator[str]:
    colour: Colour = text_html
    until = monotonic() + COLOUR_S
    for line in lines:
        kind = next((name for start, name in DIFF_LINES.items() if line.startswith(start)), "")
        if kind == "file":
            colour = _colour_for(line, len(lines), until)
            yield f'<span class="file">{text_html(line)}</span>'
        elif kind == "hunk":
            yield f'<span class="hunk">{text_html(line)}</span>'
        else:
            attribute = f' class="{kind}"' if kind else ""
            yield f"<span{attribute}>{text_html(line[:1])}{colour(line[1:])}</span>"


def _colour_for(header: str, count: int, until: float) -> Colour:
    """Return the function that highlights the lines below the *header* of a file."""
    path = PurePosixPath(header.partition("\t")[0])
    lexer = _lexer(path.suffix.removeprefix(".").casefold())
    if lexer is None or count > MAX_LINES:
        return text_html
    return lambda line: _coloured(line, lexer, until) if len(line) <= MAX_LINE else text_html(line)


def _coloured(code: str, lexer: Any, until: float) -> str:
    """Return *code* with colours as far as the time *until* suffices, and the rest without."""
    text, end = for_terminal(code), 0
    parts: list[str] = []
    for kind, value in lexer.get_tokens(text):
        if monotonic() > until:
            return "".join([*parts, escape(text[end:])])
        end += len(value)
        name = STANDARD_TYPES.get(kind, "")
        is_coloured = name.startswith(GROUPS) or name in NAMES
        part = escape(value)
        parts.append(f'<span class="t-{name}">{part}</span>' if is_coloured else part)
    return "".join(parts)


@cache
def _lexer(language: str) -> Any:
    name = _NAMES.get(language)
    if name is None:
        return None

    return get_lexer_by_name(name, stripnl=False, ensurenl=False)
