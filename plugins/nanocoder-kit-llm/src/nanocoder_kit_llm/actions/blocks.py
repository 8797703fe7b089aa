"""Code in a block after its action, as a model writes it in a chat.

Inside a JSON string, with every quote and line end escaped, a small model writes worse code: it
omits the end of a docstring, writes only the head of a function, and uses wrong operators.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder import ToolDefinition

PATH: Final = "path"
CONTENT: Final = "content"
FENCE: Final = "```"
KINDS: Final[Mapping[str, str]] = {
    "c": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "cs": "csharp",
    "css": "css",
    "go": "go",
    "h": "c",
    "hpp": "cpp",
    "html": "html",
    "java": "java",
    "js": "javascript",
    "jsx": "jsx",
    "kt": "kotlin",
    "lua": "lua",
    "mjs": "javascript",
    "php": "php",
    "py": "python",
    "pyi": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "sql": "sql",
    "swift": "swift",
    "ts": "typescript",
    "tsx": "tsx",
}
"""Language of each suffix of code files. Other files may contain blocks themselves."""
BLOCK: Final = rf"\n{FENCE}[a-z]{{1,12}}\n(([^`\n][^\n]*)?\n)*{FENCE}"
"""A pattern for a block: no line in it begins with a backtick, or the model misses its end."""
_BEGINNING: Final = re.compile(rf"\n{FENCE}[a-z]+\n")
_MARKED_LINE: Final = re.compile(r"^`", re.MULTILINE)


def has_block(tool: ToolDefinition) -> bool:
    """Return True if the parameters of *tool* are a path and the content of the file."""
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    return list(properties) == [PATH, CONTENT] == list(tool.parameters.get("required", ()))


def write_block(arguments: Mapping[str, Any]) -> str:
    """Return the block for the content of a file of code, or "" if none can contain it."""
    path, content = arguments.get(PATH), arguments.get(CONTENT)
    if len(arguments) > len((PATH, CONTENT)) or not isinstance(path, str):
        return ""
    language = KINDS.get(path.rpartition(".")[2]) if "." in path else None
    if language is None or not isinstance(content, str) or not content.endswith("\n"):
        return ""
    return "" if _MARKED_LINE.search(content) else f"\n{FENCE}{language}\n{content}{FENCE}"


def read_block(rest: str) -> str | None:
    """Return the content of the block that is the *rest* of a reply, or None."""
    beginning = _BEGINNING.match(rest)
    return None if beginning is None else rest[beginning.end() :].removesuffix(FENCE)


def code_pattern() -> str:
    """Return a pattern for the paths of code."""
    return rf"^.*\.({'|'.join(KINDS)})$"


def other_pattern() -> str:
    """Return a pattern for all other paths; the engine knows no "not"."""
    return rf"^([^.]*|.*\.{_no_word_of([*KINDS])})$"


def _no_word_of(words: Sequence[str]) -> str:
    """Return a pattern for dot-free text other than *words*."""
    rests: dict[str, list[str]] = {}
    for word in filter(None, words):
        rests.setdefault(word[0], []).append(word[1:])
    choices = [f"{letter}{_no_word_of(ends)}" for letter, ends in rests.items()]
    choices.append(f"[^.{''.join(rests)}][^.]*")
    return f"({'|'.join(choices)}){'' if '' in words else '?'}"
