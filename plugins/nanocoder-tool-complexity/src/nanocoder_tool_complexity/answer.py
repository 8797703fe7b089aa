"""The answer: the measures as text and as data."""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict, frozen
from nanocoder import ToolResult
from nanocoder_kit_files.glob.left_out import left_out_metadata, left_out_note

from nanocoder_tool_complexity.measure import File, Function, Measures

TOP = 10
MEDIUM_LINES = 10_000
HIGH_LINES = 50_000
"""The limits of the score: below 10,000 lines low, below 50,000 medium, else high."""


@frozen
class Package:
    """The files of one folder, summed up; *complexity* is that of its hardest function."""

    name: str
    files: int
    lines: int
    functions: int
    complexity: int


def answer(measures: Measures) -> ToolResult:
    """Describe the *measures* of a code base."""
    files = sorted(measures.files, key=lambda file: (-file.lines, file.path))
    packages = sum_packages(files)
    lines = sum(file.lines for file in files)
    hardest = sort_hardest(files)
    score = rate_size(lines)
    totals = ", ".join(
        (
            _count_of(len(files), "file"),
            _count_of(len(packages), "package"),
            _count_of(lines, "line"),
        )
    )
    output = [f"Complexity: {score} ({totals})"]
    output += _table("Packages", packages, _package_line)
    output += _table("Files", files, _file_line)
    output += _table("Hardest functions", hardest, _function_line)
    return ToolResult(
        "\n".join([*output, *_notes(measures)]),
        title=f"{score}: {_count_of(lines, 'line')}",
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
            "tests": measures.tests,
            **left_out_metadata(measures.left_out),
        },
    )


def rate_size(lines: int) -> str:
    """Return low, medium or high for the size of a code base in *lines*."""
    if lines < MEDIUM_LINES:
        return "low"
    return "medium" if lines < HIGH_LINES else "high"


def sum_packages(files: Iterable[File]) -> list[Package]:
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
            max((function.complexity for file in inside for function in file.functions), default=0),
        )
        for name, inside in folders.items()
    ]
    return sorted(packages, key=lambda package: (-package.lines, package.name))


def sort_hardest(files: Iterable[File]) -> list[Function]:
    """Return all functions, the most complex first."""
    functions = [function for file in files for function in file.functions]
    return sorted(
        functions,
        key=lambda function: (-function.complexity, -function.lines, function.path, function.line),
    )


def _table(title: str, rows: Sequence[Any], line: Any) -> list[str]:
    if not rows:
        return []
    extent = f" (top {TOP} of {len(rows):,})" if len(rows) > TOP else ""
    return [f"{title}{extent}:", *(f"  {line(row)}" for row in rows[:TOP])]


def _package_line(package: Package) -> str:
    return f"{package.name}: {_count_of(package.files, 'file')}, {_count_of(package.lines, 'line')}"


def _file_line(file: File) -> str:
    return f"{file.path}: {_count_of(file.lines, 'line')}"


def _function_line(function: Function) -> str:
    location = f"{function.path}:{function.line} {function.name}"
    return f"{function.complexity} {location} ({_count_of(function.lines, 'line')})"


def _file_data(file: File) -> dict[str, Any]:
    return {
        "path": file.path,
        "package": file.package,
        "lines": file.lines,
        "code": file.code,
        "functions": len(file.functions),
    }


def _notes(measures: Measures) -> list[str]:
    notes = []
    if measures.tests:
        notes.append(f"[{_count_of(measures.tests, 'test file')} left out]")
    if note := left_out_note(measures.left_out):
        notes.append(note)
    if measures.skipped:
        notes.append(f"[{_count_of(measures.skipped, 'file')} could not be read]")
    if measures.unmeasured:
        notes.append(f"[{_count_of(measures.unmeasured, 'file')} counted by lines alone]")
    return notes


def _count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number != 1 else ''}"
