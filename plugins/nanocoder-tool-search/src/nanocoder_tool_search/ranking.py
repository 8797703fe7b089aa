"""Which tools a query means: by name, or by the words of their definitions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nanocoder import ToolInfo

SELECT = "select:"
OF_NAME, OF_DESCRIPTION, OF_PARAMETERS = 4.0, 2.0, 1.0
"""What a word counts by the place where it is found."""
OF_A_RELATIVE = 0.5
"""What a word counts that only begins alike: "deleting" for "delete"."""
WORTH_IT = 0.5
"""Which part of the best score another tool needs: what is found costs tokens from then on."""
ALIKE_CHARS = 4
ENDING_CHARS = 3
_FILLERS = frozenset({"a", "all", "an", "and", "as", "at", "by", "for", "from", "in", "into", "is"})
_FILLERS |= {"it", "of", "on", "or", "that", "the", "to", "with", "tool", "tools"}

Words = Mapping[str, float]
"""The words of a tool, each with what it counts."""


def found_for(query: str, tools: Sequence[ToolInfo], limit: int) -> list[ToolInfo]:
    """Return the tools that *query* names, or else at most *limit* that its words fit best.

    Deferred ones come first, since the model knows the others.
    """
    names = _names(query)
    by_name = {one.name: one for one in tools}
    if query.strip().startswith(SELECT) or (names and by_name.keys() >= set(names)):
        return [by_name[name] for name in names if name in by_name]
    scores = _scores(_words(query), tools)
    least = max(scores.values(), default=0.0) * WORTH_IT
    ranked = sorted(
        (one for one in tools if least and scores[one.name] >= least),
        key=lambda one: (not one.deferred, -scores[one.name], one.name),
    )
    return ranked[:limit]


def _names(query: str) -> list[str]:
    parts = re.split(r"[\s,]+", query.strip().removeprefix(SELECT))
    return list(dict.fromkeys(filter(None, parts)))


def _scores(asked: Sequence[str], tools: Sequence[ToolInfo]) -> dict[str, float]:
    """Add up what the words asked for count in each tool; one that fits all tools says little."""
    described = {one.name: _described(one) for one in tools}
    scores = dict.fromkeys(described, 0.0)
    for word in asked:
        fits = {name: _fit(word, words) for name, words in described.items()}
        common = sum(1 for fit in fits.values() if fit) or 1
        for name, fit in fits.items():
            scores[name] += fit / common
    return scores


def _fit(word: str, words: Words) -> float:
    alike = (OF_A_RELATIVE * counts for one, counts in words.items() if _are_alike(word, one))
    return max(words.get(word, 0.0), max(alike, default=0.0))


def _are_alike(one: str, other: str) -> bool:
    shared = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        shared += 1
    return shared >= ALIKE_CHARS and max(len(one), len(other)) - shared <= ENDING_CHARS


def _described(one: ToolInfo) -> Words:
    """Return the words of a tool; a word in several places counts what it counts in the best."""
    words = dict.fromkeys(_words(" ".join(_texts(one.parameters))), OF_PARAMETERS)
    words |= dict.fromkeys(_words(one.description), OF_DESCRIPTION)
    return words | dict.fromkeys(_words(one.name), OF_NAME)


def _texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names, descriptions and choices of a schema's parameters, the inner ones, too."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from _texts(inner)
    yield str(schema.get("description", ""))
    yield " ".join(map(str, schema.get("enum", ())))
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _texts(items)


def _words(text: str) -> list[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return [word for word in dict.fromkeys(words) if word not in _FILLERS]
