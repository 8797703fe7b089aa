"""The record of a release's run of the tests of providers: conformance, and vendors' libraries."""

import re
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import repository

PAGE = repository.ROOT / "docs/reference/conformance.md"
FILES = ("test_conformance.py", "test_vendor_library.py")
HEAD = """# Which providers passed

`nox -s conformance`, a step of each release, runs two kinds of tests for each provider and writes
this page.

- The [conformance suite](testing.md#the-conformance-suite-of-providers): replies of every kind, and
  the faults of networks.
- The vendor's own Python library, in the version below, reads what our test servers send, and its
  types accept what we send. When a vendor changes its protocol, a newer library shows it here.

Version {version} of nanocoder:

| provider | conformance: passed of all | with the vendor's library: passed of all | library |
|---|---|---|---|
"""


def test_files() -> list[Path]:
    """Return the files that are run."""
    return sorted(
        file for name in FILES for file in repository.ROOT.glob(f"plugins/*/tests/{name}")
    )


def settings() -> dict[str, Any]:
    """Return the root pyproject.toml."""
    return tomllib.loads((repository.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def version() -> str:
    """Return the version that all packages have."""
    return str(settings()["project"]["version"])


def library(folder: Path) -> str:
    """Return the vendor's library that a provider's tests import, with the version tested."""
    file = folder / "tests" / FILES[1]
    if not file.exists():
        return ""
    modules = re.findall(r"^(?:from|import) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    constraints = settings()["tool"]["uv"]["constraint-dependencies"]
    pins = dict(pin.split("==") for pin in constraints if ";" not in pin)
    names = {"google": "google-genai"}
    vendor = folder.name.rpartition("-")[2]
    name = names.get(vendor, vendor)
    return f"{name} {pins[name]}" if vendor in modules else ""


def page(report: Path) -> str:
    """Return the page for a report of pytest in the form of JUnit."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for case in ET.parse(report).iter("testcase"):
        _, package, _, module = case.attrib["classname"].split(".")
        outcome = "failed" if any(part.tag in {"failure", "error"} for part in case) else "passed"
        counts[package, f"{module}.py", outcome] += 1
    rows = []
    for folder in sorted({file.parents[1] for file in test_files()}):
        cells = [cell(counts, folder.name, name) for name in FILES]
        rows.append(f"| {folder.name} | {' | '.join(cells)} | {library(folder)} |\n")
    return HEAD.format(version=version()) + "".join(rows)


def cell(counts: Counter[tuple[str, str, str]], package: str, name: str) -> str:
    """Return how many tests of one file passed, of how many."""
    passed, failed = counts[package, name, "passed"], counts[package, name, "failed"]
    return f"{passed} of {passed + failed}" if passed + failed else ""
