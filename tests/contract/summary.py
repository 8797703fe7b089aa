"""Print one line for everything that pytest counted in a run of nox; fail if a test never ran."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import repository

COUNT = re.compile(r"^(\S+\.py): (\d+)$", re.MULTILINE)


def counts(reports: Iterable[Path]) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped by the *reports* that exist."""
    suites = [
        suite for file in reports if file.exists() for suite in ET.parse(file).iter("testsuite")
    ]
    tests, failures, errors, skipped = (
        sum(int(suite.get(word, "0")) for suite in suites)
        for word in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return {"passed": tests - failed - skipped, "failed": failed, "skipped": skipped}


def summary(folder: Path) -> str:
    """Return the closing line; *folder* holds the reports that the nox sessions left."""
    run = counts(folder.glob("*.xml"))
    return ", ".join(f"{count} {word}" for word, count in run.items())


def never_ran(collected: Mapping[str, int], folder: Path) -> dict[str, int]:
    """Return how many tests of each file, of so many *collected*, are in no report of *folder*.

    A test that was skipped for lack of a program has not run.
    """
    cases = {
        (case.get("classname"), case.get("name"))
        for report in folder.glob("*.xml")
        for case in ET.parse(report).iter("testcase")
        if not any("needs the program" in one.get("message", "") for one in case.iter("skipped"))
    }
    ran = Counter(module for module, _ in cases)
    missing = {
        file: count - ran[file.removesuffix(".py").replace("/", ".")]
        for file, count in collected.items()
    }
    return {file: count for file, count in missing.items() if count > 0}


def collected() -> dict[str, int]:
    """Return how many tests each file has, of the folders of all sessions."""
    folders = [name for names in repository.SESSIONS.values() for name in names]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "--no-header", *folders]
    done = subprocess.run(command, cwd=repository.ROOT, check=True, capture_output=True, text=True)
    return {file: int(count) for file, count in COUNT.findall(done.stdout)}


if __name__ == "__main__":
    reports = Path(sys.argv[1])
    sys.stdout.write(summary(reports) + "\n")
    if missing := never_ran(collected(), reports):
        sys.exit(f"these files have tests that ran in no session, and how many: {missing}")
