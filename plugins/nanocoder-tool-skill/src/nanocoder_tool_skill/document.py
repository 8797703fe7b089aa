"""SKILL.md: a few lines of YAML between two lines of dashes, then the instructions."""

import re
from typing import Any

import yaml  # type: ignore[import-untyped]  # its types are in a package that nothing else needs
from attrs import frozen
from nanocoder import ToolError

MAX_HEAD_CHARS = 8_000
MAX_DESCRIPTION_CHARS = 1_024
_DEEP = re.compile(r"[\[{]")
MAX_BRACKETS = 200


@frozen
class Document:
    """The contents of a SKILL.md; *description* is one line."""

    description: str
    body: str


def parse_document(text: str) -> Document:
    """Read a SKILL.md; without a head its first line describes it.

    Raises: ToolError (invalid_skill).
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        first = next((line for line in lines if line.strip()), "")
        return Document(_line(first.lstrip("# ")), text.strip())
    ends = [number for number, line in enumerate(lines) if number and line.strip() == "---"]
    if not ends:
        raise _invalid("its head has no closing line of three dashes")
    head = _head("\n".join(lines[1 : ends[0]]))
    return Document(_line(head.get("description", "")), "\n".join(lines[ends[0] + 1 :]).strip())


def _head(text: str) -> dict[str, Any]:
    # Long or deeply nested YAML takes time and stack, and a head has no need of either.
    if len(text) > MAX_HEAD_CHARS or len(_DEEP.findall(text)) > MAX_BRACKETS:
        raise _invalid(f"its head is longer than {MAX_HEAD_CHARS:,} characters, or nested too deep")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        head = yaml.load(text, Loader=loader)  # noqa: S506 - both of these are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _invalid(f"its head is not valid YAML: {_line(str(error))}") from None
    if not isinstance(head, dict):
        raise _invalid("its head is not a list of keys and values")
    return head


def _line(value: Any) -> str:
    """Return a scalar as one line of limited length; anything else is no description."""
    if not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())[:MAX_DESCRIPTION_CHARS]


def _invalid(problem: str) -> ToolError:
    return ToolError(problem, error_class="invalid_skill")
