"""Find the tools that a query means: by name, or by the words of their definitions."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from nanocoder import ToolInfo

SELECT = "select:"
NAME_WEIGHT, DESCRIPTION_WEIGHT, PARAMETERS_WEIGHT = 4.0, 2.0, 1.0
"""The weight of a word in the name, the description and the parameters."""
RELATED_FACTOR = 0.5
"""The weight of a word that only begins alike: "deleting" for "delete"."""
MIN_SHARE = 0.5
"""The share of the best score that another tool needs: each match costs tokens from then on."""
SHARED_CHARS = 4
"""Least length of a word that is related to another as its prefix or suffix."""
ENDING_CHARS = 3
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_FILLERS = frozenset({"a", "all", "an", "and", "as", "at", "by", "for", "from", "in", "into", "is"})
_FILLERS |= {"it", "of", "on", "or", "that", "the", "to", "with", "tool", "tools"}

Words = Mapping[str, float]
"""The words of a tool, each with its weight."""


def find_tools(
    query: str, tools: Sequence[ToolInfo], deferred: Collection[str], limit: int
) -> list[ToolInfo]:
    """Return the tools that *query* names, or else at most *limit* that its words fit best.

    The *deferred* ones come first, since the model knows the others.
    """
    names = _names(query)
    by_name = {info.name: info for info in tools}
    # Words that are all names of tools need no `select:` to be taken as names.
    if query.strip().startswith(SELECT) or (names and by_name.keys() >= set(names)):
        return [by_name[name] for name in names if name in by_name]
    scores = _scores(_words(query), tools)
    least = max(scores.values(), default=0.0) * MIN_SHARE
    ranked = sorted(
        (info for info in tools if least and scores[info.name] >= least),
        key=lambda info: (info.name not in deferred, -scores[info.name], info.name),
    )
    return ranked[:limit]


def _names(query: str) -> list[str]:
    parts = re.split(r"[\s,]+", query.strip().removeprefix(SELECT))
    return list(dict.fromkeys(filter(None, parts)))


def _scores(words: Sequence[str], tools: Sequence[ToolInfo]) -> dict[str, float]:
    """Return the sum of the weights of *words* in each tool; common words weigh little."""
    weights = {info.name: _weigh_words(info) for info in tools}
    scores = dict.fromkeys(weights, 0.0)
    for word in words:
        fits = {name: _fit(word, weighted) for name, weighted in weights.items()}
        common = sum(1 for fit in fits.values() if fit) or 1
        for name, fit in fits.items():
            scores[name] += fit / common
    return scores


def _fit(word: str, words: Words) -> float:
    alike = (RELATED_FACTOR * counts for other, counts in words.items() if _are_alike(word, other))
    return max(words.get(word, 0.0), max(alike, default=0.0))


def _are_alike(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    if len(short) >= SHARED_CHARS and (long.startswith(short) or long.endswith(short)):
        return True  # "subagent" and "agent", "checklist" and "list"
    shared = 0
    for left, right in zip(word, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= SHARED_CHARS and max(len(word), len(other)) - shared <= ENDING_CHARS


def _weigh_words(info: ToolInfo) -> Words:
    """Return the words of a tool with their highest weight."""
    words = dict.fromkeys(_words(" ".join(_texts(info.parameters))), PARAMETERS_WEIGHT)
    words |= dict.fromkeys(_words(info.description), DESCRIPTION_WEIGHT)
    return words | dict.fromkeys(_words(info.name), NAME_WEIGHT)


def _texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names, descriptions and choices of a schema's parameters, nested ones included."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from _texts(inner)
    yield str(schema.get("description", ""))
    yield " ".join(map(str, schema.get("enum", ())))
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _texts(items)


def _words(text: str) -> list[str]:
    """Return the words of *text*; of "sub-agent" also the one without a hyphen."""
    # One match for each run of letters and hyphens: a long text is read once.
    compounds = _WORD.findall(text.lower())
    words = [part for word in compounds for part in word.split("-")]
    words += [word.replace("-", "") for word in compounds if "-" in word]
    return [word for word in dict.fromkeys(words) if word not in _FILLERS]
