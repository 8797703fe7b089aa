"""Search of files by words: those that match, and their dependencies."""

import math
import re
from collections.abc import Iterable, Mapping

from nanocoder_tool_codemap.graph import rank
from nanocoder_tool_codemap.index import CodeMap
from nanocoder_tool_codemap.record import Record

EXACT, PART, PATH, WORD = 5.0, 2.0, 3.0, 1.0
MATCH_SHARE = 0.7
"""The share of the match itself; the rest is the rank that flows from the matching files."""
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_TERM = re.compile(r"[^\W_][\w$]*")


def rank_by_words(
    files: Mapping[str, Record], code: CodeMap, query: str
) -> list[tuple[str, list[str]]]:
    """Return the paths in *files* for *query*, best first, each with the names that match."""
    terms = {term.lower() for term in _TERM.findall(query)}
    terms |= {part for term in _TERM.findall(query) for part in parts_of(term)}
    matches = {path: _match(path, record, terms) for path, record in code.records.items()}
    rare = _rarity(code.records.values(), terms)
    scores = {
        path: sum(weight * rare[term] for term, weight in weights.items())
        for path, (weights, _) in matches.items()
        if weights
    }
    if not scores:
        return []
    flow = rank(code.graph.weights, scores)
    best, most = max(scores.values()), max(flow.values()) or 1.0
    combined = {
        path: MATCH_SHARE * scores.get(path, 0.0) / best + (1 - MATCH_SHARE) * flow[path] / most
        for path in files
        if flow[path]
    }
    order = sorted(combined, key=lambda path: (-combined[path], path))
    return [(path, matches[path][1]) for path in order]


def parts_of(name: str) -> set[str]:
    """Return the words that a name is made of, in lower case: readFile has read and file."""
    return {part.lower() for part in _PARTS.findall(name)}


def _match(path: str, record: Record, terms: set[str]) -> tuple[dict[str, float], list[str]]:
    weights: dict[str, float] = {}
    names = []
    for part in terms & (parts_of(path) | {path.rpartition("/")[2].partition(".")[0].lower()}):
        weights[part] = PATH
    for definition in record.definitions:
        lower = definition.name.lower()
        hits = {lower: EXACT} if lower in terms else {}
        hits |= dict.fromkeys(terms & parts_of(definition.name), PART) if not hits else {}
        for term, weight in hits.items():
            weights[term] = max(weights.get(term, 0.0), weight)
        if hits:
            names.append(definition.name)
    for term in terms & record.words:
        weights.setdefault(term, WORD)
    return weights, names


def _rarity(records: Iterable[Record], terms: set[str]) -> dict[str, float]:
    """Return the weight of each term: the fewer files it is in, the higher."""
    all_records = list(records)
    counts = {term: sum(term in record.words for record in all_records) for term in terms}
    return {term: math.log(1 + len(all_records) / (1 + count)) for term, count in counts.items()}
