"""On a machine that has every tool, nothing is skipped without a reason that is listed."""

import os
from collections.abc import Generator

import pytest
import repository


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where CI says that all tools are there."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        allowed = [entry["reason"] for entry in repository.exceptions("skips")]
        if not any(reason.removeprefix("Skipped: ").startswith(start) for start in allowed):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: skipped where nothing may be: {reason}"
    return report
