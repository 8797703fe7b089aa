"""The operations of code_map, each of which yields lines of text."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen
from nanocoder import Cancel, ToolError, Workspace, WorkspaceError, nearest

from nanocoder_tool_codemap.graph import reach
from nanocoder_tool_codemap.index import MAX_FILE_BYTES, CodeMap, Index
from nanocoder_tool_codemap.record import Definition, Record
from nanocoder_tool_codemap.relevance import rank_by_words

SHOWN_SYMBOLS = 12
SHOWN_NAMES = 5
MAX_LINE_CHARS = 200

QUERIES = frozenset({"define", "references", "relevant"})
"""Operations that are about a name or words; all others are about a path."""
BOTH = frozenset({"upstream", "downstream"})
"""Operations on a path, or on a name if there is no such path."""


@frozen
class Inquiry:
    """One inquiry: about the files at or below *path* ("." for all), or about *query*."""

    workspace: Workspace
    index: Index
    map: CodeMap
    path: str
    query: str
    cancel: Cancel

    @property
    def files(self) -> dict[str, Record]:
        """The files at or below *path*; raises ToolError when there is no code."""
        records = self.map.records
        if self.path == ".":
            return dict(records)
        below = f"{self.path}/"
        files = {
            path: record
            for path, record in records.items()
            if path == self.path or path.startswith(below)
        }
        if not files:
            raise ToolError(
                f"no code that this map reads is in {self.path!r}; it reads Python, JavaScript,"
                " TypeScript, Go and Rust that git does not ignore",
                error_class="not_found",
            )
        return files

    def name(self) -> str:
        """Return the query; raises ToolError without one."""
        if not self.query.strip():
            raise ToolError("give what to look for as target", error_class="invalid_arguments")
        return self.query.strip()

    def starts(self) -> list[str]:
        """Return the files to start from: those at *path*, or those that define *query*."""
        if self.path != ".":
            return list(self.files)
        return list(dict.fromkeys(path for path, _ in find_definitions(self, self.name())))


def structure(inquiry: Inquiry) -> Iterator[str]:
    """List languages, folders and files with their definitions, the most needed files first."""
    files = inquiry.files
    languages = Counter(record.language for record in files.values())
    counts = ", ".join(f"{name} {count}" for name, count in languages.most_common())
    lines = sum(record.lines for record in files.values())
    yield f"{_files(len(files))}, {_lines(lines)}: {counts}"
    if inquiry.map.skipped:
        yield f"[{_files(inquiry.map.skipped)} too large or too many to read]"
    yield from _folders(files)
    yield "Files, those that others need most first:"
    ranks = inquiry.map.ranks
    for path in sorted(files, key=lambda path: (-ranks[path], path)):
        yield f"{path} ({files[path].lines})" + _summary(files[path])


def _folders(files: Mapping[str, Record]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path, record in files.items():
        folder = path.rpartition("/")[0] or "."
        counts[folder] += 1
        lines[folder] += record.lines
    largest = sorted(sorted(counts, key=lambda folder: -lines[folder])[:30])
    yield "Folders:"
    for folder in largest:
        yield f"  {folder}/ {_files(counts[folder])}, {_lines(lines[folder])}"
    if len(counts) > len(largest):
        yield f"  [{len(counts) - len(largest)} smaller folders]"


def _files(count: int) -> str:
    return f"{count:,} file{'s' if count != 1 else ''}"


def _lines(count: int) -> str:
    return f"{count:,} line{'s' if count != 1 else ''}"


def symbols(inquiry: Inquiry) -> Iterator[str]:
    """List the definitions of each file as an outline."""
    for path, record in inquiry.files.items():
        if not record.definitions:
            continue
        yield path
        for definition in record.definitions:
            yield f"{'  ' * (definition.depth + 1)}{definition.line} {definition.signature}"


def dependencies(inquiry: Inquiry) -> Iterator[str]:
    """Yield the direct dependencies of each file: files of the workspace, and packages."""
    graph = inquiry.map.graph
    for path in inquiry.files:
        edges = graph.needs[path]
        if edges:
            inner = sorted(edges, key=lambda other: (-edges[other], other))
            yield f"{path} -> {', '.join(inner)}"
        if graph.external[path]:
            yield f"{path} -> outside: {', '.join(graph.external[path])}"


def define(inquiry: Inquiry) -> Iterator[str]:
    """Yield the locations of a name's definitions."""
    for path, definition in find_definitions(inquiry, inquiry.name()):
        inside = f" in {definition.parent}" if definition.parent else ""
        location = f"{path}:{definition.line}-{definition.end}"
        yield f"{location} {definition.kind}{inside}: {definition.signature}"


def references(inquiry: Inquiry) -> Iterator[str]:
    """List the lines that use a name outside comments and strings."""
    name = inquiry.name().rpartition(".")[2]
    ranks = inquiry.map.ranks
    files = inquiry.files
    for path in sorted(files, key=lambda path: (-ranks[path], path)):
        if len(name) > 1 and name not in files[path].words:
            continue
        inquiry.cancel.check()
        try:
            data = inquiry.workspace.read_bytes(path, max_bytes=MAX_FILE_BYTES)
        except WorkspaceError:  # deleted meanwhile
            continue
        definition_lines = {
            definition.line for definition in files[path].definitions if definition.name == name
        }
        for line, text in inquiry.index.lines_with(name, files[path].language, data):
            mark = " [definition]" if line in definition_lines else ""
            yield f"{path}:{line}: {text[:MAX_LINE_CHARS]}{mark}"


def upstream(inquiry: Inquiry) -> Iterator[str]:
    """List the files that a file needs, directly and indirectly."""
    starts = inquiry.starts()
    yield from _reach_lines(starts, reach(inquiry.map.graph.needs, starts), "needs")


def downstream(inquiry: Inquiry) -> Iterator[str]:
    """List the files that need a file or a name, directly and indirectly."""
    starts = inquiry.starts()
    needed_by = inquiry.map.graph.needed_by
    if inquiry.path == ".":
        name = inquiry.name().replace("::", ".").rpartition(".")[2]
        records = inquiry.map.records
        languages = {records[path].language for path in starts}
        users = {
            path: 1.0
            for path, record in records.items()
            if name in record.words and record.language in languages and path not in starts
        }
        needed_by = {**needed_by, **dict.fromkeys(starts, users)}
    yield from _reach_lines(starts, reach(needed_by, starts), "is needed by")


def relevant(inquiry: Inquiry) -> Iterator[str]:
    """List the files that matter most for some words."""
    scores = rank_by_words(inquiry.files, inquiry.map, inquiry.name())
    for path, matching in scores:
        record = inquiry.map.records[path]
        yield f"{path} ({record.lines})" + _summary(record, matching)


OPERATIONS: Mapping[str, Callable[[Inquiry], Iterator[str]]] = {
    "structure": structure,
    "symbols": symbols,
    "dependencies": dependencies,
    "define": define,
    "references": references,
    "upstream": upstream,
    "downstream": downstream,
    "relevant": relevant,
}

COUNTED: Mapping[str, int] = {**dict.fromkeys(OPERATIONS, 100_000), "references": 100}
"""The most surplus lines to count; few for references, as each needs a file to be parsed."""


def find_definitions(inquiry: Inquiry, query: str) -> list[tuple[str, Definition]]:
    """Return the definitions of *query* ("name" or "Class.name"), the highest rank first.

    Raises: ToolError (not_found) with similar names.
    """
    parent, _, name = query.replace("::", ".").rpartition(".")
    parent = parent.rpartition(".")[2]
    ranks = inquiry.map.ranks
    matches = [
        (path, definition)
        for path, record in inquiry.files.items()
        for definition in record.definitions
        if definition.name == name
        and definition.kind != "impl"
        and parent in {"", definition.parent}
    ]
    if not matches:
        raise _unknown_error(inquiry, name)
    return sorted(
        matches,
        key=lambda definition: (-ranks[definition[0]], definition[0], definition[1].line),
    )


def split_target(workspace: Workspace, operation: str, target: str) -> tuple[str, str]:
    """Return *target* split into a path and a query.

    Raises: WorkspaceError for a path that must exist and does not.
    """
    if operation in QUERIES:
        return ".", target
    path = workspace.resolve(target)
    if path == "." or workspace.exists(path):
        return path, ""
    if operation in BOTH and "/" not in target:
        return ".", target
    workspace.stat(path)
    return path, ""


def _unknown_error(inquiry: Inquiry, name: str) -> ToolError:
    names = {
        definition.name for record in inquiry.files.values() for definition in record.definitions
    }
    folded = name.lower()
    close = [definition for definition in sorted(names) if folded in definition.lower()]
    close += nearest(name, sorted(names), limit=SHOWN_NAMES)
    near = list(dict.fromkeys(close))[:SHOWN_NAMES]
    advice = f"; near it: {', '.join(near)}" if near else "; search with grep"
    return ToolError(f"nothing called {name!r} is defined here{advice}", error_class="not_found")


def _reach_lines(starts: Sequence[str], steps: Mapping[str, int], how: str) -> Iterator[str]:
    distances = {path: distance for path, distance in steps.items() if distance}
    origin = ", ".join(starts[:SHOWN_NAMES]) + (", \u2026" if len(starts) > SHOWN_NAMES else "")
    yield f"{origin} {how} {_files(len(distances))}:"
    for path in sorted(distances, key=lambda path: (distances[path], path)):
        yield f"{distances[path]} {path}"


def _summary(record: Record, first: Iterable[str] = ()) -> str:
    """Name the top-level definitions of a file, beginning with *first*."""
    top = [
        definition
        for definition in record.definitions
        if definition.depth == 0 and definition.kind != "impl"
    ]
    top.sort(key=lambda definition: definition.kind == "constant")
    names = list(dict.fromkeys([*first, *(definition.name for definition in top)]))
    if not names:
        return ""
    more = ", \u2026" if len(names) > SHOWN_SYMBOLS else ""
    return f": {', '.join(names[:SHOWN_SYMBOLS])}{more}"
