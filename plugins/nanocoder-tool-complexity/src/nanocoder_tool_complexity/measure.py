"""Count lines, and the paths through each function."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from attrs import define, field, frozen

# Not `import lizard`, which puts the folder of the running script in front of sys.path: code of
# the workspace could then be imported.
from lizard_core.extensions import get_extensions  # type: ignore[import-untyped]
from lizard_core.file_analyzer import FileAnalyzer  # type: ignore[import-untyped]
from lizard_languages import get_reader_for  # type: ignore[import-untyped]
from nanocoder import Cancel, Cancelled, Workspace, WorkspaceError
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_kit_files.glob.left_out import LeftOut

SKIPPED = frozenset(
    {
        *("vendor", "node_modules", "third_party", "bower_components", "testdata", "tests", "test"),
        *("venv", ".venv", "env", ".tox", ".nox", "__pycache__", "site-packages", ".eggs"),
        *("dist", "build", "target", "out", "bin", "coverage", ".idea", ".vscode"),
    }
)
MAX_FILE_BYTES = 5_000_000
MAX_MEASURED_BYTES = 1_000_000
"""Size limit of a measured file: larger ones are generated code, and take seconds."""
CHECK_EVERY_TOKENS = 5_000
"""Tokens, some milliseconds, between two checks of the time limit and the cancel flag."""
_TEST = re.compile(
    r"(?:test_.*|.*_test|conftest)\.py|.*_test\.\w+|.*\.(?:test|spec)\.\w+|.*Tests?\.(?:java|kt|cs)"
)


@frozen
class Function:
    """One function: *complexity* is the number of ways through it, McCabe's."""

    path: str
    name: str
    line: int
    lines: int
    complexity: int


@frozen
class File:
    """One file; *code* is its lines without blank ones and comments, -1 when not measured."""

    path: str
    lines: int
    code: int = -1
    functions: tuple[Function, ...] = ()

    @property
    def package(self) -> str:
        """The folder, which is a package in Go and Python."""
        return self.path.rpartition("/")[0] or "."


@define
class Measures:
    """All *files*; *tests* and *skipped* were left out, *unmeasured* were counted by lines alone.

    *left_out* are files that policies hide.
    """

    files: list[File] = field(factory=list)
    tests: int = 0
    skipped: int = 0
    unmeasured: int = 0
    left_out: LeftOut = field(factory=LeftOut)


def measure(
    workspace: Workspace,
    *,
    skip: Collection[str],
    extensions: Collection[str],
    limit_s: float,
    cancel: Cancel,
) -> Measures:
    """Measure all files with *extensions*, tests aside.

    Raises: Cancelled.
    """
    ends = tuple(
        f".{extension.lower().lstrip('*.')}" for extension in extensions if extension.strip("*. ")
    )
    deadline = time.monotonic() + limit_s
    measures = Measures()
    analyse = _make_analyser(cancel, deadline)
    for path, size in _candidates(workspace, SKIPPED | set(skip), ends, measures.left_out):
        cancel.check()
        if _TEST.fullmatch(path.rpartition("/")[2]):
            measures.tests += 1
            continue
        try:
            data = workspace.read_bytes(path, max_bytes=MAX_FILE_BYTES)
        except WorkspaceError:  # too large, deleted, or not readable
            measures.skipped += 1
            continue
        lines = data.count(b"\n") + (data != b"" and not data.endswith(b"\n"))
        file = File(path, lines)
        if size <= MAX_MEASURED_BYTES and time.monotonic() < deadline:
            file = analyse(file, data)
        measures.unmeasured += file.code < 0
        measures.files.append(file)
    return measures


def _candidates(
    workspace: Workspace, skip: Collection[str], ends: tuple[str, ...], left_out: LeftOut
) -> Iterator[tuple[str, int]]:
    for entry in walk(workspace, skip=skip, left_out=left_out):
        if entry.kind == "file" and entry.name.lower().endswith(ends):
            yield entry.path, entry.size
    left_out.files = [path for path in left_out.files if path.lower().endswith(ends)]


def _make_analyser(cancel: Cancel, deadline: float) -> Callable[[File, bytes], File]:
    def check_limits(tokens: Iterable[str], _reader: object) -> Iterator[str]:
        for count, token in enumerate(tokens):
            if count % CHECK_EVERY_TOKENS == 0:
                cancel.check()
                if time.monotonic() > deadline:
                    raise TimeoutError
            yield token

    # lizard passes each token through its extensions; only there it can be stopped.
    analyser = FileAnalyzer([*get_extensions([]), check_limits])

    def analyse(file: File, data: bytes) -> File:
        if get_reader_for(file.path) is None:
            return file
        try:
            info = analyser.analyze_source_code(file.path, data.decode("utf-8", "replace"))
            functions = tuple(_function(file.path, entry) for entry in info.function_list)
        except Cancelled:
            raise
        except Exception:  # noqa: BLE001 - the parser may fail on one file; the others go on
            return file
        return File(file.path, file.lines, int(info.nloc), functions)

    return analyse


def _function(path: str, entry: Any) -> Function:
    return Function(
        path,
        str(entry.name),
        int(entry.start_line),
        int(entry.end_line - entry.start_line + 1),
        int(entry.cyclomatic_complexity),
    )
