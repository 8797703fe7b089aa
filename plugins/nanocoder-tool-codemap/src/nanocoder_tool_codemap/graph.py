"""Who uses whom, and who matters most."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from attrs import define

from nanocoder_tool_codemap.record import Record
from nanocoder_tool_codemap.resolve import Resolver

DAMPING = 0.85
ROUNDS = 20
ENOUGH = 1e-4
IMPORT_WEIGHT = 1.0
NAME_WEIGHT = 1.0
MAX_HOMES = 3
"""A name that more files than these define says nothing about who uses whom."""
MIN_NAME_CHARS = 3

Edges = dict[str, dict[str, float]]


@define(eq=False)
class Graph:
    """*needs* has an edge from each file to those that it imports, *needed_by* the reverse.

    *external* is what is imported from outside.
    """

    needs: Edges
    needed_by: Edges
    external: Mapping[str, tuple[str, ...]]
    _users: "_Users"
    _weights: Edges | None = None

    @property
    def weights(self) -> Edges:
        """Return *needs* and the files that define names which a file uses; made at first use.

        It tells who matters. A name can be shared by chance, so it says nothing about one file.
        """
        if self._weights is None:
            self._weights = {
                path: _sum(edges, self._users.names(path, edges))
                for path, edges in self.needs.items()
            }
        return self._weights


def build(records: Mapping[str, Record]) -> Graph:
    """Connect files by their imports, and by the names that one defines and another uses."""
    resolver = Resolver.of(records)
    users = _Users(records)
    needs: Edges = {}
    external = {}
    for path, record in records.items():
        found = {spec: resolver.resolve(path, record, spec) for spec in record.imports}
        edges = {other: IMPORT_WEIGHT for others in found.values() for other in others}
        outside = [_package(record.language, spec) for spec, others in found.items() if not others]
        if record.language == "go":
            # Files of one Go package see each other without an import.
            package = users.package(path)
            names = users.names(path, edges)
            edges |= {other: IMPORT_WEIGHT for other in names if other in package}
        needs[path] = edges
        external[path] = tuple(dict.fromkeys(outside))
    return Graph(needs, _reversed(needs), external, users)


class _Users:
    """Knows who defines each name."""

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

    def names(self, path: str, imported: Mapping[str, float]) -> dict[str, float]:
        """Return the files whose names *path* uses, with how much that says."""
        if self._homes is None:
            self._homes = _homes(self._records)
        record = self._records[path]
        seen = imported.keys() | self.package(path)
        return _names(path, record, self._homes[record.language], seen)


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {path: one.get(path, 0.0) + other.get(path, 0.0) for path in one.keys() | other.keys()}


def _package(language: str, spec: str) -> str:
    return spec.partition(":")[0] if language in {"python", "rust"} else spec


def _homes(records: Mapping[str, Record]) -> dict[str, dict[str, list[str]]]:
    """Return the files that define each name at their top, by language and name."""
    homes: dict[str, dict[str, list[str]]] = {}
    for path, record in records.items():
        own = homes.setdefault(record.language, {})
        for name in record.top_names():
            if len(name) >= MIN_NAME_CHARS:
                own.setdefault(name, []).append(path)
    return homes


def _names(
    path: str,
    record: Record,
    homes: Mapping[str, list[str]],
    imported: AbstractSet[str],
) -> dict[str, float]:
    """Return the files whose names a file uses, with how much that says."""
    weights: dict[str, float] = {}
    for word in record.words & homes.keys():
        where = homes[word]
        if len(where) > MAX_HOMES or path in where:
            continue
        # Where the file imports one of them, that is the one it means; else "read" means nothing.
        meant = [other for other in where if other in imported]
        if not meant and (word.lower() != word or "_" in word):
            meant = where
        for other in meant:
            weights[other] = weights.get(other, 0.0) + NAME_WEIGHT / len(meant)
    return weights


def _reversed(needs: Edges) -> Edges:
    needed_by: Edges = {path: {} for path in needs}
    for path, edges in needs.items():
        for other, weight in edges.items():
            needed_by[other][path] = weight
    return needed_by


def rank(edges: Edges, start: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the PageRank of each file; *start* is where the surfer begins, everywhere if None."""
    paths = list(edges)
    number = {path: index for index, path in enumerate(paths)}
    weights = [start.get(path, 0.0) for path in paths] if start else [1.0] * len(paths)
    begin = [weight / sum(weights) for weight in weights]
    links = []
    for path in paths:
        whole = sum(edges[path].values())
        links.append([(number[other], weight / whole) for other, weight in edges[path].items()])
    scores = begin
    for _ in range(ROUNDS):
        passed = [0.0] * len(paths)
        for score, targets in zip(scores, links, strict=True):
            for other, share in targets:
                passed[other] += score * share
        # Who leads nowhere passes his score to where the surfer begins again.
        rest = 1 - DAMPING * sum(passed)
        fresh = [DAMPING * one + rest * base for one, base in zip(passed, begin, strict=True)]
        change = sum(abs(a - b) for a, b in zip(fresh, scores, strict=True))
        scores = fresh
        if change < ENOUGH:
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
