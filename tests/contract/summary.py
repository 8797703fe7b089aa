"""Print one line for everything that pytest counted in a run of nox."""

import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET


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


if __name__ == "__main__":
    sys.stdout.write(summary(Path(sys.argv[1])) + "\n")
