"""The records of all files of a workspace, updated before each answer."""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from attrs import define, evolve, field
from nanocoder import Cancel, ConfigError, Entry, Workspace, WorkspaceError
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_kit_files.glob.left_out import LeftOut

from nanocoder_tool_codemap import store
from nanocoder_tool_codemap.extract import extract
from nanocoder_tool_codemap.graph import Graph, build_graph, rank
from nanocoder_tool_codemap.languages import Grammar, language_of, load
from nanocoder_tool_codemap.record import Record, make_record
from nanocoder_tool_codemap.store import EMPTY, Stamp, Stored
from nanocoder_tool_codemap.usage import lines_with

MAX_FILES = 20_000
MAX_FILE_BYTES = 1_000_000
SETTLED_S = 2.0
"""A younger file may change again without a new time: clocks of file systems are coarse."""


@define(eq=False)
class CodeMap:
    """The code of one workspace as it was at one moment.

    *skipped* is the number of files beyond a limit, *parsed* that of the files parsed now.
    *left_out* are files that policies hide.
    """

    records: Mapping[str, Record]
    skipped: int = 0
    parsed: int = 0
    left_out: LeftOut = field(factory=LeftOut)
    _graph: Graph | None = None
    _ranks: Mapping[str, float] = EMPTY

    @property
    def graph(self) -> Graph:
        """The graph of which file uses which; made at first use."""
        if self._graph is None:
            self._graph = build_graph(self.records)
        return self._graph

    @property
    def computed_ranks(self) -> Mapping[str, float]:
        """The ranks if they were computed so far, else nothing."""
        return self._ranks

    @property
    def ranks(self) -> Mapping[str, float]:
        """The rank of each file; made at first use."""
        if not self._ranks and self.records:
            self._ranks = rank(self.graph.weights)
        return self._ranks


@define(eq=False)
class Index:
    """The records of a session; *file* stores them between sessions, or is None."""

    file: Path | None
    _lock: threading.Lock = field(factory=threading.Lock)
    _stored: Stored | None = None
    _map: CodeMap | None = None
    _is_new: bool = False
    _grammars: dict[str, Grammar] = field(factory=dict)

    def refresh(self, workspace: Workspace, cancel: Cancel) -> CodeMap:
        """Read new and changed files, and return the map of the workspace.

        Raises: Cancelled.
        """
        with self._lock:  # a parser must not run on two threads at once
            if self._stored is None:
                self._stored = store.load(self.file) if self.file else Stored()
            return self._refresh_map(workspace, cancel, self._stored)

    def close(self) -> None:
        """Save the records and ranks for the next session."""
        with self._lock:
            if self.file is None or self._map is None or self._stored is None:
                return
            state = evolve(self._stored, ranks=self._map.computed_ranks)
            if self._is_new or state.ranks != self._stored.ranks:
                store.save(self.file, state)

    def lines_with(self, name: str, language: str, data: bytes) -> list[tuple[int, str]]:
        """Return the lines of *data* that use *name*, comments and strings aside."""
        with self._lock:
            return list(lines_with(name, data, self._grammar(language)))

    def _grammar(self, language: str) -> Grammar:
        if language not in self._grammars:
            self._grammars[language] = load(language)
        return self._grammars[language]

    def _refresh_map(self, workspace: Workspace, cancel: Cancel, stored: Stored) -> CodeMap:
        records = dict(stored.records)
        stamps: dict[str, Stamp] = {}
        paths: dict[str, str] = {}
        settled = time.time() - SETTLED_S
        skipped = 0
        left_out = LeftOut()
        for entry in walk(workspace, left_out=left_out):
            language = language_of(entry.name) if entry.kind == "file" else ""
            if not language:
                continue
            cancel.check()
            if entry.size > MAX_FILE_BYTES or len(stamps) >= MAX_FILES:
                skipped += 1
                continue
            stamp = stored.stamps.get(entry.path)
            if stamp is None or (stamp.size, stamp.mtime) != (entry.size, entry.mtime):
                stamp = self._read(workspace, entry, language, records)
            paths[entry.path] = stamp.digest
            # A stamp of size -1 fits no file, so that a young file is read again the next time.
            stamps[entry.path] = stamp if entry.mtime < settled else Stamp(-1, 0.0, stamp.digest)
        left_out.files = [path for path in left_out.files if language_of(path.rpartition("/")[2])]
        code = self._update_map(stored, Stored(stamps, records), paths, skipped)
        code.left_out = left_out
        return code

    def _read(
        self, workspace: Workspace, entry: Entry, language: str, records: dict[str, Record]
    ) -> Stamp:
        """Add the record of a file to *records*, unless one has the same content."""
        try:
            data = workspace.read_bytes(entry.path, max_bytes=MAX_FILE_BYTES)
        except WorkspaceError:  # deleted or not readable: the map does without it
            data = b""
        digest = f"{language}-{sha256(data).hexdigest()}"
        if digest not in records:
            records[digest] = self._extract(language, data)
        return Stamp(entry.size, entry.mtime, digest)

    def _extract(self, language: str, data: bytes) -> Record:
        try:
            return extract(language, data, self._grammar(language))
        except ValueError:  # the parser gave up
            return make_record(language, data.count(b"\n") + 1, (), (), ())

    def _update_map(
        self, old: Stored, new: Stored, paths: Mapping[str, str], skipped: int
    ) -> CodeMap:
        if self._map is not None and old.stamps == new.stamps:
            return self._map
        new_records = {digest: new.records[digest] for digest in paths.values()}
        same = paths == {path: stamp.digest for path, stamp in old.stamps.items()}
        if self._map is None or not same:
            records = {path: new_records[digest] for path, digest in paths.items()}
            parsed = len(new_records.keys() - old.records.keys())
            self._map = CodeMap(records, skipped, parsed, ranks=old.ranks if same else {})
        self._is_new = self._is_new or old.stamps != new.stamps
        self._stored = Stored(new.stamps, new_records, old.ranks if same else {})
        return self._map


def open_index(root: Path | None) -> Index:
    """Return the index of a session, stored for *root* in the user's cache; None stores nothing."""
    file = None
    if root is not None:
        with suppress(ConfigError):  # there is no home for it
            file = store.file_of(root.resolve())
    return Index(file)
