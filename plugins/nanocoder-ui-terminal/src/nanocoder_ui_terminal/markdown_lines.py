"""Markdown as lines for the terminal, with rich; nothing in the text can steer the terminal.

Imported when the first words of an answer are drawn: rich and its parser take a tenth of a second.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import ClassVar, Final, NamedTuple

from markdown_it.token import Token
from nanocoder import for_terminal
from nanocoder_kit_ui.markdown import answer_parser
from rich import box
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import (
    BlockQuote,
    CodeBlock,
    Heading,
    HorizontalRule,
    ListItem,
    Markdown,
    TableElement,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from nanocoder_ui_terminal.text_lines import plain_lines

THEME: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold dim",
        "markdown.h5": "bold dim",
        "markdown.h6": "dim",
        "markdown.block_quote": "dim",
        "markdown.hr": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.link": "none",
        "markdown.link_url": "dim underline",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
CODE_INDENT: Final = 2
CODE_THEME: Final = "ansi_dark"
MAX_HIGHLIGHTED_CHARS: Final = 20_000
MAX_PARSED_CHARS: Final = 60_000
PIECE_CHARS: Final = 20_000
LONG_BLOCK_CHARS: Final = 8_000
MAX_BRACKETS: Final = 1_000
MAX_BARS: Final = 100
MAX_LEVEL: Final = 16


class Split(NamedTuple):
    """A text in two parts; *is_inside* where one block has lines in both, without a gap."""

    complete: str
    rest: str
    is_inside: bool = False


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Code(CodeBlock):
    """Code as it is, indented; coloured when its language is named."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        inner = options.update(width=max(1, options.max_width - CODE_INDENT))
        for line in console.render_lines(self._content(code), inner, pad=False):
            yield Segment(" " * CODE_INDENT)
            yield from line
            yield Segment.line()

    def _content(self, code: str) -> Text:
        if self.lexer_name == "text" or len(code) > MAX_HIGHLIGHTED_CHARS:
            return Text(code, overflow="fold", no_wrap=False)
        from rich.syntax import Syntax  # only code in a named language pays for the lexers

        syntax = Syntax(code, self.lexer_name, theme=CODE_THEME, background_color="default")
        text = syntax.highlight(code)
        text.rstrip()
        text.overflow = "fold"
        text.no_wrap = False
        return text


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.box, table.show_edge = box.SIMPLE_HEAD, False
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Item(ListItem):
    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        first = f" {number}. ".rjust(len(str(last_number)) + 3)
        inner = options.update(width=max(1, options.max_width - len(first)))
        style = console.get_style("markdown.item.number")
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment(first, style)
            yield from line
            yield Segment.line()
            first = " " * len(first)


class _Quote(BlockQuote):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(1, options.max_width - 2))
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment("│ ", self.style)
            yield from line
            yield Segment.line()


class _Rule(HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * min(options.max_width, 40), style="dim")


class _Page(Markdown):
    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "blockquote_open": _Quote,
        "hr": _Rule,
        "table_open": _Table,
        "list_item_open": _Item,
    }

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__("", hyperlinks=False, code_theme=CODE_THEME)
        self.parsed = list(tokens)

    def _flatten_tokens(self, tokens: Iterable[Token]) -> Iterable[Token]:
        for token in super()._flatten_tokens(tokens):
            if token.type == "softbreak":
                # Models mean their line ends, so a soft break is shown as one.
                token.type = "hardbreak"
            elif token.type == "image":
                token.type, token.tag = "text", ""
                token.content = f"[image: {token.content or token.attrs.get('src', '')}]"
            yield token


class MarkdownRenderer:
    """Makes lines of Markdown. *colour* False leaves every style out."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = ColorSystem.STANDARD if colour else None
        # Entities would bring back characters that were made visible; raw HTML, images and
        # reference definitions would hide text.
        self._parser = answer_parser().disable(["entity", "reference"])
        self._console = Console(
            color_system="standard" if colour else None,
            force_terminal=colour,
            no_color=not colour,
            theme=THEME,
            width=80,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
            _environ={},
        )

    def split_complete(self, text: str) -> Split:
        """Split safe text into lines that later text cannot change, and the rest."""
        if _is_plain(text):
            end = text.rfind("\n") + 1
            return Split(text[:end], text[end:], is_inside=not text[:end].endswith("\n\n"))
        tokens = self._parser.parse(text)
        lines = text.split("\n")
        # A block whose first line is unfinished may still belong to the block before it.
        complete = [token for token in tokens if token.map and token.map[0] < len(lines) - 1]
        starts = [token.map[0] for token in complete if _opens_block(token)]  # type: ignore[index]
        is_inside = len(starts) == 1 and len(text) > LONG_BLOCK_CHARS
        if is_inside:
            starts = _starts_inside(complete, lines)
        if len(starts) > 1:
            first, rest = lines[: starts[-1]], lines[starts[-1] :]
            return Split("\n".join(first) + "\n", "\n".join(rest), is_inside)
        return Split("", text)

    def lines(self, text: str, width: int) -> list[str]:
        """Return safe Markdown as lines of at most *width* columns."""
        if len(text) <= MAX_PARSED_CHARS:
            return self._lines(text, width)
        lines: list[str] = []
        gap: list[str] = []
        for piece, is_inside in self._pieces(text):
            if part := self._lines(piece, width):
                lines += [*gap, *part]
                gap = [] if is_inside else [""]
        return lines

    def _pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """Split a text that is too long to be parsed at once; tell of each cut inside a block."""
        while len(text) > PIECE_CHARS:
            end = text.rfind("\n", 0, PIECE_CHARS) + 1 or PIECE_CHARS
            piece, rest, is_inside = self.split_complete(text[:end])
            if not piece:
                piece, rest, is_inside = text[:end], "", True
            yield piece, is_inside
            text = rest + text[end:]
        yield text, False

    def _lines(self, text: str, width: int) -> list[str]:
        tokens = [] if _is_plain(text) else self._parser.parse(text)
        # The parser drops text that is nested too deeply; plain lines show all of it.
        if tokens and max(token.level for token in tokens) < MAX_LEVEL:
            try:
                return self._render(_Page(tokens), width)
            except Exception:  # noqa: BLE001, S110 - odd text must not end a session
                pass
        return list(plain_lines(text.strip("\n"), width))

    def _render(self, page: Markdown, width: int) -> list[str]:
        options = self._console.options.update(width=width, height=None)
        rows = self._console.render_lines(page, options, pad=False)
        lines = [
            "".join(self._style_row(Segment.adjust_line_length(row, width, pad=False)))
            for row in rows
        ]
        while lines and not lines[-1]:
            lines.pop()
        return list(dropwhile(lambda line: not line, lines))

    def _style_row(self, row: Iterable[Segment]) -> Iterable[str]:
        segments = list(Segment.simplify(row))
        while segments and not segments[-1].text.strip():
            segments.pop()
        for place, (text, style, _) in enumerate(segments, 1):
            if place == len(segments):
                text = text.rstrip()  # noqa: PLW2901 - rich fills its lines
            # The last gate: only our own styles get through, whatever a renderer produced.
            safe = for_terminal(text).replace("\t", " ")
            if style is None or self._colour is None:
                yield safe
            else:
                yield style.render(safe, color_system=self._colour)


def _opens_block(token: Token) -> bool:
    return token.level == 0 and token.nesting >= 0 and token.map is not None


def _starts_inside(block: Sequence[Token], lines: list[str]) -> list[int]:
    """Return the lines where one long block may be cut: at items of a list, in a paragraph.

    Each frame parses what is still open, so a block without an end must not stay open whole.
    """
    if block[0].type == "paragraph_open":
        return [0, len(lines) - 2]  # the last complete line may become a heading
    starts = [token.map[0] for token in block if _is_item(token)]  # type: ignore[index]
    _carry_number(lines, starts, block[0])
    return starts


def _is_item(token: Token) -> bool:
    return token.type == "list_item_open" and token.level == 1 and token.map is not None


def _carry_number(lines: list[str], starts: Sequence[int], head: Token) -> None:
    """Give the last item of a list its number, since it begins the text that remains."""
    if head.type == "ordered_list_open" and starts:
        number = int(head.attrs.get("start", 1)) + len(starts) - 1
        lines[starts[-1]] = re.sub(r"\d+", str(number), lines[starts[-1]], count=1)


def _is_plain(text: str) -> bool:
    """Return True if parsing *text* would take too long, or show nothing better."""
    if len(text) > MAX_PARSED_CHARS or text.count("[") > MAX_BRACKETS:
        return True
    return text.count("|") > MAX_BARS and any(
        line.count("|") > MAX_BARS for line in text.split("\n")
    )
