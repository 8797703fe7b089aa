"""The records of all files of a workspace, brought up to date before each answer."""

import threading
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from attrs import define, evolve, field
from nanocoder import Cancel, Entry, LeftOut, Workspace, WorkspaceError

from nanocoder_tool_codemap import store
from nanocoder_tool_codemap.extract import extract
from nanocoder_tool_codemap.graph import Graph, build, rank
from nanocoder_tool_codemap.languages import Grammar, language_of, load
from nanocoder_tool_codemap.record import Record, make
from nanocoder_tool_codemap.store import EMPTY, Stamp, Stored
from nanocoder_tool_codemap.usage import lines_with

MAX_FILES = 20_000
MAX_FILE_BYTES = 1_000_000
SETTLED_S = 2.0
"""A file that is younger may change again without its time telling."""


@define(eq=False)
class CodeMap:
    """The code of one workspace as it was at one moment.

    *skipped* counts files that are too large or too many, *parsed* those that had to be parsed.
    *left_out* is what policies keep from it.
    """

    records: Mapping[str, Record]
    skipped: int = 0
    parsed: int = 0
    left_out: LeftOut = field(factory=LeftOut)
    _graph: Graph | None = None
    _ranks: Mapping[str, float] = EMPTY

    @property
    def graph(self) -> Graph:
        """Who uses whom; made at first use."""
        if self._graph is None:
            self._graph = build(self.records)
        return self._graph

    @property
    def known_ranks(self) -> Mapping[str, float]:
        """The ranks if anybody asked for them so far, else nothing."""
        return self._ranks

    @property
    def ranks(self) -> Mapping[str, float]:
        """How much each file matters; made at first use."""
        if not self._ranks and self.records:
            self._ranks = rank(self.graph.weights)
        return self._ranks


@define(eq=False)
class Index:
    """Keeps the records of a session; *file* is where they are kept between sessions, or None."""

    file: Path | None
    _lock: threading.Lock = field(factory=threading.Lock)
    _stored: Stored | None = None
    _map: CodeMap | None = None
    _is_new: bool = False
    _grammars: dict[str, Grammar] = field(factory=dict)

    def refresh(self, workspace: Workspace, cancel: Cancel) -> CodeMap:
        """Read what is new or has changed, and return the map of the workspace.

        Raises: Cancelled.
        """
        with self._lock:  # parsers are not for two threads at once
            if self._stored is None:
                self._stored = store.load(self.file) if self.file else Stored()
            return self._refreshed(workspace, cancel, self._stored)

    def close(self) -> None:
        """Keep what was learnt for the next session."""
        with self._lock:
            if self.file is None or self._map is None or self._stored is None:
                return
            learnt = evolve(self._stored, ranks=self._map.known_ranks)
            if self._is_new or learnt.ranks != self._stored.ranks:
                store.save(self.file, learnt)

    def lines_with(self, name: str, language: str, data: bytes) -> list[tuple[int, str]]:
        """Return the lines of *data* that use *name*, comments and strings aside."""
        with self._lock:
            return list(lines_with(name, data, self._grammar(language)))

    def _grammar(self, language: str) -> Grammar:
        if language not in self._grammars:
            self._grammars[language] = load(language)
        return self._grammars[language]

    def _refreshed(self, workspace: Workspace, cancel: Cancel, stored: Stored) -> CodeMap:
        known = dict(stored.records)
        stamps: dict[str, Stamp] = {}
        paths: dict[str, str] = {}
        settled = time.time() - SETTLED_S
        skipped = 0
        left_out = LeftOut()
        for entry in workspace.walk(left_out=left_out):
            language = language_of(entry.name) if entry.kind == "file" else ""
            if not language:
                continue
            cancel.check()
            if entry.size > MAX_FILE_BYTES or len(stamps) >= MAX_FILES:
                skipped += 1
                continue
            stamp = stored.stamps.get(entry.path)
            if stamp is None or (stamp.size, stamp.mtime) != (entry.size, entry.mtime):
                stamp = self._read(workspace, entry, language, known)
            paths[entry.path] = stamp.digest
            stamps[entry.path] = stamp if entry.mtime < settled else Stamp(-1, 0.0, stamp.digest)
        left_out.files = [path for path in left_out.files if language_of(path.rpartition("/")[2])]
        code = self._kept(stored, Stored(stamps, known), paths, skipped)
        code.left_out = left_out
        return code

    def _read(
        self, workspace: Workspace, entry: Entry, language: str, known: dict[str, Record]
    ) -> Stamp:
        """Add the record of a file to those that are *known*, unless one has the same content."""
        try:
            data = workspace.read_bytes(entry.path, max_bytes=MAX_FILE_BYTES)
        except WorkspaceError:  # gone, or nothing that we may read: a map without it is a map
            data = b""
        digest = f"{language}-{sha256(data).hexdigest()}"
        if digest not in known:
            known[digest] = self._extracted(language, data)
        return Stamp(entry.size, entry.mtime, digest)

    def _extracted(self, language: str, data: bytes) -> Record:
        try:
            return extract(language, data, self._grammar(language))
        except ValueError:  # the parser gave up
            return make(language, data.count(b"\n") + 1, (), (), ())

    def _kept(self, before: Stored, now: Stored, paths: Mapping[str, str], skipped: int) -> CodeMap:
        if self._map is not None and before.stamps == now.stamps:
            return self._map
        used = {digest: now.records[digest] for digest in paths.values()}
        same = paths == {path: stamp.digest for path, stamp in before.stamps.items()}
        if self._map is None or not same:
            records = {path: used[digest] for path, digest in paths.items()}
            parsed = len(used.keys() - before.records.keys())
            self._map = CodeMap(records, skipped, parsed, ranks=before.ranks if same else {})
        self._is_new = self._is_new or before.stamps != now.stamps
        self._stored = Stored(now.stamps, used, before.ranks if same else {})
        return self._map
