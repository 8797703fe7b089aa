"""The graph of which file uses which, and the rank of each file in it."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from attrs import define

from nanocoder_tool_codemap.record import Record
from nanocoder_tool_codemap.resolve import Resolver

DAMPING = 0.85
ROUNDS = 20
MIN_CHANGE = 1e-4
IMPORT_WEIGHT = 1.0
NAME_WEIGHT = 1.0
MAX_HOMES = 3
"""Limit of the files that define a name, beyond which a use of it is ambiguous."""
MIN_NAME_CHARS = 3

Edges = dict[str, dict[str, float]]


@define(eq=False)
class Graph:
    """The import graph: *needs* has an edge from each file to its imports, *needed_by* the reverse.

    *external* are the packages imported from outside.
    """

    needs: Edges
    needed_by: Edges
    external: Mapping[str, tuple[str, ...]]
    _users: "_Users"
    _weights: Edges | None = None

    @property
    def weights(self) -> Edges:
        """Return *needs* plus the files whose names a file uses; made at first use.

        It is good for ranks only: two files may share a name by chance.
        """
        if self._weights is None:
            self._weights = {
                path: _sum(edges, self._users.find_files(path, edges))
                for path, edges in self.needs.items()
            }
        return self._weights


def build_graph(records: Mapping[str, Record]) -> Graph:
    """Connect files by their imports, and by the names that one defines and another uses."""
    resolver = Resolver.of(records)
    users = _Users(records)
    needs: Edges = {}
    external = {}
    for path, record in records.items():
        targets = {spec: resolver.resolve(path, record, spec) for spec in record.imports}
        edges = {other: IMPORT_WEIGHT for others in targets.values() for other in others}
        outside = [
            _package(record.language, spec) for spec, others in targets.items() if not others
        ]
        if record.language == "go":
            # Files of one Go package see each other without an import.
            package = users.package(path)
            names = users.find_files(path, edges)
            edges |= {other: IMPORT_WEIGHT for other in names if other in package}
        needs[path] = edges
        external[path] = tuple(dict.fromkeys(outside))
    return Graph(needs, _reverse(needs), external, users)


class _Users:
    """Knows which files define each name."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._records = records
        self._homes: dict[str, dict[str, list[str]]] | None = None
        self._packages: dict[str, set[str]] = {}
        for path, record in records.items():
            if record.language == "go":
                self._packages.setdefault(path.rpartition("/")[0], set()).add(path)

    def package(self, path: str) -> AbstractSet[str]:
        """Return the files of a Go file's package, nothing for another file."""
        is_go = self._records[path].language == "go"
        return self._packages[path.rpartition("/")[0]] if is_go else frozenset()

    def find_files(self, path: str, imported: Mapping[str, float]) -> dict[str, float]:
        """Return the files whose names *path* uses, with the weight of that."""
        if self._homes is None:
            self._homes = _homes(self._records)
        record = self._records[path]
        visible = imported.keys() | self.package(path)
        return _names(path, record, self._homes[record.language], visible)


def _sum(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    return {
        path: first.get(path, 0.0) + second.get(path, 0.0) for path in first.keys() | second.keys()
    }


def _package(language: str, spec: str) -> str:
    return spec.partition(":")[0] if language in {"python", "rust"} else spec


def _homes(records: Mapping[str, Record]) -> dict[str, dict[str, list[str]]]:
    """Return the files that define each name at their top, by language and name."""
    homes: dict[str, dict[str, list[str]]] = {}
    for path, record in records.items():
        homes_by_name = homes.setdefault(record.language, {})
        for name in record.top_names():
            if len(name) >= MIN_NAME_CHARS:
                homes_by_name.setdefault(name, []).append(path)
    return homes


def _names(
    path: str,
    record: Record,
    homes: Mapping[str, list[str]],
    imported: AbstractSet[str],
) -> dict[str, float]:
    """Return the files whose names a file uses, with the weight of that."""
    weights: dict[str, float] = {}
    for word in record.words & homes.keys():
        homes_of_word = homes[word]
        if len(homes_of_word) > MAX_HOMES or path in homes_of_word:
            continue
        # An imported file is the target; else a common word such as "read" has no target.
        targets = [other for other in homes_of_word if other in imported]
        if not targets and (word.lower() != word or "_" in word):
            targets = homes_of_word
        for other in targets:
            weights[other] = weights.get(other, 0.0) + NAME_WEIGHT / len(targets)
    return weights


def _reverse(needs: Edges) -> Edges:
    needed_by: Edges = {path: {} for path in needs}
    for path, edges in needs.items():
        for other, weight in edges.items():
            needed_by[other][path] = weight
    return needed_by


def rank(edges: Edges, start: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the PageRank of each file; the surfer begins at *start*, or at any file if None."""
    paths = list(edges)
    number = {path: index for index, path in enumerate(paths)}
    weights = [start.get(path, 0.0) for path in paths] if start else [1.0] * len(paths)
    begin = [weight / sum(weights) for weight in weights]
    links = []
    for path in paths:
        total = sum(edges[path].values())
        links.append([(number[other], weight / total) for other, weight in edges[path].items()])
    scores = begin
    for _ in range(ROUNDS):
        incoming = [0.0] * len(paths)
        for score, targets in zip(scores, links, strict=True):
            for other, share in targets:
                incoming[other] += score * share
        # A file without links passes its score on to the files where the surfer starts.
        rest = 1 - DAMPING * sum(incoming)
        updated = [
            DAMPING * score + rest * base for score, base in zip(incoming, begin, strict=True)
        ]
        change = sum(abs(a - b) for a, b in zip(updated, scores, strict=True))
        scores = updated
        if change < MIN_CHANGE:
            break
    return dict(zip(paths, scores, strict=True))


def reach(edges: Edges, starts: Iterable[str]) -> dict[str, int]:
    """Return every file that can be reached from *starts*, with how many steps that takes."""
    steps = dict.fromkeys(starts, 0)
    level = list(steps)
    while level:
        following = [other for path in level for other in edges.get(path, ())]
        level = [other for other in dict.fromkeys(following) if other not in steps]
        distance = max(steps.values()) + 1
        steps.update(dict.fromkeys(level, distance))
    return steps
