"""The measures as a person reads them, and as data."""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict, frozen
from nanocoder import ToolResult

from nanocoder_tool_complexity.measure import File, Function, Measured

TOP = 10
MEDIUM_LINES = 10_000
HIGH_LINES = 50_000
"""Where a code base gets its score: below 10,000 lines low, below 50,000 medium, else high."""


@frozen
class Package:
    """The files of one folder, summed up; *complexity* is that of its hardest function."""

    name: str
    files: int
    lines: int
    functions: int
    complexity: int


def answer(measured: Measured) -> ToolResult:
    """Describe what was *measured*."""
    files = sorted(measured.files, key=lambda file: (-file.lines, file.path))
    packages = packages_of(files)
    lines = sum(file.lines for file in files)
    hardest = hardest_of(files)
    score = score_of(lines)
    counted = ", ".join(
        (_count(len(files), "file"), _count(len(packages), "package"), _count(lines, "line"))
    )
    output = [f"Complexity: {score} ({counted})"]
    output += _table("Packages", packages, _package_line)
    output += _table("Files", files, _file_line)
    output += _table("Hardest functions", hardest, _function_line)
    return ToolResult(
        "\n".join([*output, *_notes(measured)]),
        title=f"{score}: {_count(lines, 'line')}",
        data={
            "score": score,
            "files": [_file_data(file) for file in files],
            "packages": [asdict(package) for package in packages],
            "functions": [asdict(function) for function in hardest[:TOP]],
        },
        metadata={
            "score": score,
            "files": len(files),
            "lines": lines,
            "tests": measured.tests,
            **measured.left_out.metadata(),
        },
    )


def score_of(lines: int) -> str:
    """Return low, medium or high for a code base of so many *lines*."""
    if lines < MEDIUM_LINES:
        return "low"
    return "medium" if lines < HIGH_LINES else "high"


def packages_of(files: Iterable[File]) -> list[Package]:
    """Sum *files* up by their folders, largest first."""
    folders: dict[str, list[File]] = {}
    for file in files:
        folders.setdefault(file.package, []).append(file)
    packages = [
        Package(
            name,
            len(inside),
            sum(file.lines for file in inside),
            sum(len(file.functions) for file in inside),
            max((one.complexity for file in inside for one in file.functions), default=0),
        )
        for name, inside in folders.items()
    ]
    return sorted(packages, key=lambda package: (-package.lines, package.name))


def hardest_of(files: Iterable[File]) -> list[Function]:
    """Return all functions, those with most ways through them first."""
    functions = [one for file in files for one in file.functions]
    return sorted(functions, key=lambda one: (-one.complexity, -one.lines, one.path, one.line))


def _table(title: str, rows: Sequence[Any], line: Any) -> list[str]:
    if not rows:
        return []
    shown = f" (top {TOP} of {len(rows):,})" if len(rows) > TOP else ""
    return [f"{title}{shown}:", *(f"  {line(row)}" for row in rows[:TOP])]


def _package_line(package: Package) -> str:
    return f"{package.name}: {_count(package.files, 'file')}, {_count(package.lines, 'line')}"


def _file_line(file: File) -> str:
    return f"{file.path}: {_count(file.lines, 'line')}"


def _function_line(one: Function) -> str:
    return f"{one.complexity} {one.path}:{one.line} {one.name} ({_count(one.lines, 'line')})"


def _file_data(file: File) -> dict[str, Any]:
    return {
        "path": file.path,
        "package": file.package,
        "lines": file.lines,
        "code": file.code,
        "functions": len(file.functions),
    }


def _notes(measured: Measured) -> list[str]:
    notes = []
    if measured.tests:
        notes.append(f"[{_count(measured.tests, 'test file')} left out]")
    if note := measured.left_out.note():
        notes.append(note)
    if measured.skipped:
        notes.append(f"[{_count(measured.skipped, 'file')} could not be read]")
    if measured.unmeasured:
        notes.append(f"[{_count(measured.unmeasured, 'file')} counted by lines alone]")
    return notes


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"
