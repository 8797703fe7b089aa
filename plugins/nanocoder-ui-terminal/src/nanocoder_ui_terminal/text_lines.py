"""Foreign text as lines for the terminal: made safe, folded, and coloured where it is a diff."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from nanocoder import counted, for_terminal
from nanocoder_kit_files.diff import patched_files

from nanocoder_ui_terminal.terminal import Terminal, cut, fold

TAB_COLUMNS: Final = 4
MAX_PROMPT_LINES: Final = 6
MIN_CLIPPED: Final = 3
JOINER: Final = "\u200d"
SHORT_COLUMNS: Final = 40
"""A value beside a call's first argument is shown when it is no longer than this."""
HUNK: Final = re.compile(r"^@@ -\d", re.MULTILINE)
SHORT_FILE_LINES: Final = 12
"""A new file with so many lines of a diff is shown in full by an undo."""
MAX_NESTED: Final = 4
MAX_PARTS: Final = 20
"""Only so many parts of a long list are read, since it is shown on one line."""


def clean(text: str) -> str:
    """Return *text* safe to show, and as wide as we think it is.

    Terminals do not agree on how wide emoji are that are joined; unjoined they do.
    """
    return for_terminal(text).replace(JOINER, "")


def one_line(text: str, columns: int) -> str:
    """Return the beginning of *text* on one line of at most *columns*, safe to show."""
    # Cleaning a megabyte for eighty columns would be slow, and cleaning never shortens a text much.
    line = clean(" ".join(text[: 8 * columns].split()))
    return cut(line, columns)


def plain_lines(text: str, columns: int) -> Iterator[str]:
    """Yield *text* as safe lines of at most *columns*; nothing is left out."""
    for line in clean(text).expandtabs(TAB_COLUMNS).split("\n"):
        yield from fold(line, columns)


def prompt_lines(text: str, terminal: Terminal) -> list[str]:
    """Return the beginning of a prompt as the screen shows it, and how many lines follow."""
    lines = list(plain_lines(text, terminal.width - 2)) or [""]
    sign = terminal.paint(terminal.sign("prompt"), "cyan", "bold")
    rows = [f"{sign} {lines[0]}", *(f"  {line}" for line in lines[1:MAX_PROMPT_LINES])]
    if more := lines[MAX_PROMPT_LINES:]:
        note = f"{terminal.sign('more')} {counted(len(more), 'more line')}"
        rows.append(terminal.paint(note, "dim"))
    return rows


def message_lines(text: str, columns: int) -> Iterator[str]:
    """Yield a message as safe lines, broken between words where it can be."""
    for line in clean(text).split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        for part in textwrap.wrap(
            line,
            columns,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        ) or [""]:
            yield from fold(part, columns)


def write_note(text: str, terminal: Terminal) -> None:
    """Write a note about an answer, which may quote what was typed."""
    for line in message_lines(text, terminal.width):
        terminal.write(f"{terminal.paint(line, 'yellow')}\n")


def is_diff(text: str) -> bool:
    """Return True if *text* is a unified diff, or holds one."""
    return HUNK.search(text) is not None


def highlight_lines(text: str, columns: int, terminal: Terminal) -> Iterator[str]:
    """Yield *text* as `plain_lines` does, with the colours of a diff if it is one."""
    if not is_diff(text):
        yield from plain_lines(text, columns)
        return
    in_hunk = False
    for line in text.split("\n"):
        in_hunk = in_hunk or line.startswith("@@")
        styles = _diff_styles(line, in_hunk=in_hunk)
        for part in plain_lines(line, columns):
            yield terminal.paint(part, *styles) if styles else part


def shorten_whole_files(diff: str) -> str:
    """Return *diff* with one line in place of each deleted or created file.

    A new file keeps its lines if there are few.
    """
    lines = diff.split("\n")
    starts = [place for place in range(len(lines) - 1) if _is_header(lines, place)]
    result = lines[: starts[0]] if starts else lines
    for start, end in pairwise([*starts, len(lines)]):
        result = [*result, *_shortened(lines[start:end])]
    return "\n".join(result)


def _shortened(part: Sequence[str]) -> Sequence[str]:
    old, new = part[0].removeprefix("--- "), part[1].removeprefix("+++ ")
    if new == "/dev/null":
        return [_whole_file_line("delete", old.removeprefix("a/"), part, "-")]
    if old == "/dev/null" and len(part) > SHORT_FILE_LINES:
        return [_whole_file_line("create", new.removeprefix("b/"), part, "+")]
    return part


def _is_header(lines: Sequence[str], place: int) -> bool:
    return lines[place].startswith("--- ") and lines[place + 1].startswith("+++ ")


def _whole_file_line(verb: str, path: str, part: Sequence[str], sign: str) -> str:
    count = sum(line.startswith(sign) for line in part[2:])
    return f"{verb} {path} ({counted(count, 'line')})"


def clip_middle(lines: Sequence[str], limit: int, note: str) -> list[str]:
    """Return the first two thirds and the last third of *limit* lines; *note* takes a number.

    The first line and the last two are always there.
    """
    limit = max(MIN_CLIPPED, limit)
    missing = len(lines) - limit
    if missing <= 1:
        return list(lines)
    tail = max(MIN_CLIPPED - 1, limit // 3)
    return [*lines[: limit - tail], note.format(missing), *lines[len(lines) - tail :]]


def brief(arguments: Any, columns: int) -> str:
    """Describe the arguments of a call on one line: the first one, then other short ones."""
    if not isinstance(arguments, dict):
        return ""
    return cut("  ".join(_brief_parts(arguments.items(), columns)), columns)


def _brief_parts(items: Iterable[tuple[str, Any]], columns: int) -> Iterator[str]:
    for place, (key, value) in enumerate(items):
        text = _in_words(value)
        if place == 0:
            # Two commands in one text must not look like one.
            lines = text[: 8 * columns].strip().replace("\n", " ⏎ ")
            yield one_line(", ".join(patched_files(text)) or lines, columns)
        elif "\n" not in text and len(text) <= SHORT_COLUMNS:
            yield f"{one_line(key, SHORT_COLUMNS)}={one_line(text, SHORT_COLUMNS)}"


def _in_words(value: Any, depth: int = 0) -> str:
    """Return a value in words: a list as its parts, an object as its first field."""
    if isinstance(value, str):
        return value
    if depth < MAX_NESTED and isinstance(value, (list, tuple)):
        return ", ".join(_in_words(part, depth + 1) for part in value[:MAX_PARTS])
    if depth < MAX_NESTED and isinstance(value, dict) and value:
        return _in_words(next(iter(value.values())), depth + 1)
    return json.dumps(value, ensure_ascii=False, default=str)


def _diff_styles(line: str, *, in_hunk: bool) -> tuple[str, ...]:
    if line.startswith("@@"):
        return ("cyan",)
    if line.startswith(("+++ ", "--- ")) and not in_hunk:
        return ("dim",)
    if line.startswith("+"):
        return ("green",)
    return ("red",) if line.startswith("-") else ()
