"""Arguments as text for an editor: JSON in which a text of several lines is a block.

A block begins after `<<END` at the end of a line and goes to the line `END`; that of a text without
a newline at its end is called `END_NO_NEWLINE`. Plain JSON is read, too.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nanocoder import parse_json

END: Final = "END"
NAME_CHARS: Final = 32
BARE: Final = "_NO_NEWLINE"
OPENING: Final = re.compile(r"^(?P<before>.*)<<(?P<tag>END(?:_NO_NEWLINE)?\d*)$")


def format_arguments(arguments: Mapping[str, Any]) -> str:
    """Return *arguments* for reading; characters that could deceive the reader are escaped."""
    blocks: dict[str, str] = {}
    text = json.dumps(_take_out_blocks(dict(arguments), blocks), indent=2, ensure_ascii=False)
    readable = "".join(
        letter if letter == "\n" or letter.isprintable() else _escape(letter) for letter in text
    )
    lines = (_put_back_block(line, blocks) for line in readable.split("\n"))
    return "\n".join(lines) + "\n"


def parse_arguments(text: str) -> Any:
    """Return the value that *text* describes; raises BadArguments."""
    return parse_json("\n".join(_expand_blocks(text.split("\n"))))


def _put_back_block(line: str, blocks: Mapping[str, str]) -> str:
    """Return *line* with the block whose name it ends with."""
    value = line.removesuffix(",")
    name = value[-NAME_CHARS - 1 : -1]
    if name not in blocks:
        return line
    return value[: -NAME_CHARS - 2] + _block(blocks[name], line[len(value) :])


def _take_out_blocks(value: Any, blocks: dict[str, str]) -> Any:
    """Return *value* with a random, unguessable name for each text that becomes a block."""
    if isinstance(value, dict):
        return {key: _take_out_blocks(part, blocks) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_take_out_blocks(part, blocks) for part in value]
    if not isinstance(value, str) or not _is_block(value):
        return value
    name = os.urandom(NAME_CHARS // 2).hex()
    blocks[name] = value
    return name


def _is_block(text: str) -> bool:
    return "\n" in text[:-1] and all(letter in "\n\t" or letter.isprintable() for letter in text)


def _block(text: str, comma: str) -> str:
    name = END if text.endswith("\n") else END + BARE
    tag, number = name, 1
    while tag in text.split("\n") or f"{tag}," in text.split("\n"):
        number += 1
        tag = f"{name}{number}"
    return f"<<{tag}\n{text.removesuffix(chr(10))}\n{tag}{comma}"


def _expand_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines with each block as a JSON text; a block without an end stays as it is."""
    place = 0
    while place < len(lines):
        opening = OPENING.match(lines[place])
        end = _end(lines, place + 1, opening["tag"]) if opening else 0
        if opening and end:
            text = "\n".join(lines[place + 1 : end])
            text += "" if BARE in opening["tag"] else "\n"
            comma = "," if lines[end].endswith(",") else ""
            yield opening["before"] + json.dumps(text) + comma
            place = end
        else:
            yield lines[place]
        place += 1


def _end(lines: Sequence[str], start: int, tag: str) -> int:
    ends = (place for place in range(start, len(lines)) if lines[place] in {tag, f"{tag},"})
    return next(ends, 0)


def _escape(letter: str) -> str:
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"
