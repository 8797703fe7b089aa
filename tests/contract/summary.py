"""Print one line for everything that pytest counted in a run of nox."""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET


def summary(folder: Path) -> str:
    """Return the closing line; *folder* holds the reports that the nox sessions left."""
    suites = [
        suite for file in sorted(folder.glob("*.xml")) for suite in ET.parse(file).iter("testsuite")
    ]
    counts = {
        word: sum(int(suite.get(word, "0")) for suite in suites)
        for word in ("tests", "failures", "errors", "skipped")
    }
    failed = counts["failures"] + counts["errors"]
    passed = counts["tests"] - failed - counts["skipped"]
    return f"{passed} passed, {failed} failed, {counts['skipped']} skipped"


if __name__ == "__main__":
    sys.stdout.write(summary(Path(sys.argv[1])) + "\n")
