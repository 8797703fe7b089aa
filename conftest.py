"""On a machine that has every program, nothing is skipped without a reason that is listed."""

import gc
import os
import shutil
from collections import defaultdict
from collections.abc import Generator
from typing import Final, TypeVar

import pytest
import repository
from command_line import described, nanocoder, warm
from hypothesis import HealthCheck, settings

__all__ = ["described", "nanocoder", "warm"]

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

PACKAGES: Final = {
    "bwrap": "bubblewrap",
    "losetup": "mount",
    "mkfs.exfat": "exfatprogs",
    "mount.exfat-fuse": "exfat-fuse",
    "node": "nodejs",
    "rg": "ripgrep",
}
"""Debian's package of a program, where its name is another."""
HIDDEN: Final = "HIDDEN_PROGRAMS"
"""Programs that a run of CI has hidden on purpose: their tests may be skipped in it."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is not on the machine, and say which package has it."""
    for mark in item.iter_markers("needs"):
        if not repository.names_a_program(item.path):
            text = (
                f"write `{repository.PROGRAM_MARK}` in this file: the session programs looks for it"
            )
            pytest.fail(text)
        for program in mark.args:
            if find_program(program) is None:
                package = PACKAGES.get(program, program)
                pytest.skip(f"needs the program {program}: install the package {package}")


def find_program(name: str) -> str | None:
    """Return the machine's program, not one that a wheel brought into an environment."""
    folders = [
        folder
        for folder in os.get_exec_path()
        if not os.path.exists(os.path.join(folder, os.pardir, "pyvenv.cfg"))
    ]
    return shutil.which(name, path=os.pathsep.join(folders))


# 13,000 collected tests are millions of objects. Looking for garbage among them is two fifths of
# the collection, and half a second for each `gc.collect()` of a test.
gc.disable()

LONG_S: Final = 600


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave all but some evenly spread rows of a long matrix to the session `full`.

    There a property may take as long as its many examples need, whatever limit it has daily.
    """
    if config.getoption("--hypothesis-profile", None) == "long":
        for item in items:
            if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
                item.add_marker(pytest.mark.timeout(LONG_S), append=False)
    matrices = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("rows"):
            matrices[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, count), rows in matrices.items():
        kept = {place * len(rows) // count for place in range(count)}
        for place, item in enumerate(rows):
            if place not in kept:
                item.add_marker("full")


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not in what was collected."""
    gc.freeze()
    gc.enable()


# The same few examples each time in the daily loop, many in the session `full`: new ones, but in
# CI, where no change may fail for what another one did. A busy machine makes an example slow, not
# wrong; what hangs is ended by pytest's own limit.
settings.register_profile(
    "short",
    max_examples=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    settings.get_profile("short"),
    max_examples=300,
    derandomize="CI" in os.environ,
)
settings.load_profile("short")


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands asked about, or reach what is outside: a sandbox holds them, unasked."""
    monkeypatch.setenv("NANOCODER_SANDBOX", "none")


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
    hidden = os.environ.get(HIDDEN, "").split()
    allowed = (
        *(entry["reason"] for entry in repository.exceptions("skips")),
        *(f"needs the program {program}:" for program in hidden),
    )
    if not reason.removeprefix("Skipped: ").startswith(allowed):
        report.outcome = "failed"
        report.longrepr = f"{nodeid}: skipped where nothing may be: {reason}"
    return report
