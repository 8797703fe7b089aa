"""On a machine that has every tool, nothing is skipped without a reason that is listed."""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest
import repository

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where CI says that all tools are there."""
    return judged((yield), item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same to a module that skips itself."""
    return judged((yield), collector.nodeid)


def judged(report: Report, nodeid: str) -> Report:
    """Return the report, as a failure if it is a skip for a reason that is not listed."""
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    allowed = tuple(entry["reason"] for entry in repository.exceptions("skips"))
    if not reason.removeprefix("Skipped: ").startswith(allowed):
        report.outcome = "failed"
        report.longrepr = f"{nodeid}: skipped where nothing may be: {reason}"
    return report
