"""SEARCH/REPLACE blocks in a reply's text, which are edits of files."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from nanocoder import ToolDefinition

from nanocoder_kit_llm.http.call_values import GarbledCallError, TextCall

_SEARCH: Final = re.compile(r"<{5,9} SEARCH")
_MIDDLE: Final = re.compile(r"={5,9}")
_REPLACE: Final = re.compile(r">{5,9} REPLACE[ \t]*")
_PATH_KEYS: Final = ("path", "file_path", "file")
_EDIT_KEYS: Final = (
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old", "new"),
    ("search", "replace"),
)


class _Block(NamedTuple):
    """A SEARCH/REPLACE block: the lines of text before it, and those of its two halves."""

    before: list[str]
    old: list[str]
    new: list[str]


def edits_in(
    text: str, offered: Mapping[str, ToolDefinition], *, after_prose: bool
) -> tuple[str, list[TextCall]]:
    """Read SEARCH/REPLACE blocks, each below its path or below another block of the same file."""
    editor = next(filter(None, map(_edit_keys, offered.values())), None)
    blocks = _blocks(text) if editor else []
    if editor is None or not blocks:
        return "", []
    name, path_key, old_key, new_key = editor
    path = _path((blocks[0].before or [""])[-1])
    prose = "\n".join(blocks[0].before[:-1] if path else blocks[0].before)
    if prose and not after_prose:
        return prose, []
    calls: list[TextCall] = []
    for block in blocks:
        if not path:
            raise GarbledCallError(name)
        if calls and block.before:
            path = _path(block.before[-1])
            if not path or len(block.before) > 1:
                return "", []  # prose between two blocks
        old, new = "".join(block.old), "".join(block.new)
        if new:
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
        calls.append(TextCall(name, {path_key: path, old_key: old, new_key: new}))
    return prose, calls


def _blocks(text: str) -> list[_Block]:
    """Return the blocks of *text*, or none if one has no end or text follows the last one."""
    blocks: list[_Block] = []
    block = _Block([], [], [])
    lines = block.before
    for line in text.split("\n"):
        if lines is block.before:
            if _SEARCH.fullmatch(line):
                lines = block.old
            elif line.strip() and not line.strip().startswith("```"):
                lines.append(line.strip())
        elif lines is block.old and _MIDDLE.fullmatch(line):
            lines = block.new
        elif lines is block.new and _REPLACE.fullmatch(line):
            blocks.append(block)
            block = _Block([], [], [])
            lines = block.before
        else:
            lines.append(f"{line}\n")
    return [] if block.before or lines is not block.before else blocks


def _edit_keys(tool: ToolDefinition) -> tuple[str, str, str, str] | None:
    """Return the name of a tool that replaces text in a file, and its three keys."""
    keys = tool.parameters.get("properties", {})
    path = next((key for key in _PATH_KEYS if key in keys), "")
    pair = next((pair for pair in _EDIT_KEYS if keys.keys() >= {*pair}), None)
    return (tool.name, path, *pair) if path and pair else None


def _path(line: str) -> str:
    """Return the path that is all of *line*, or ""."""
    path = line.strip("`*#: ")
    return path if re.fullmatch(r"[\w@%+=./-]{1,300}", path) else ""
