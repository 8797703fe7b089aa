"""The lines of a file that use a name."""

import re
from collections.abc import Iterator

from nanocoder_tool_codemap.extract import blank_out, capture_nodes
from nanocoder_tool_codemap.languages import Grammar


def lines_with(name: str, data: bytes, grammar: Grammar) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line with *name*, strings aside."""
    code = blank_out(data, capture_nodes(data, grammar).get("noise", ()))
    pattern = re.compile(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])")
    lines = data.split(b"\n")
    for number, line in enumerate(code.split(b"\n")):
        if pattern.search(line):
            yield number + 1, lines[number].decode("utf-8", "replace").strip()
