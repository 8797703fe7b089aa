"""A pytest plugin that records which tests start a process or thread, send a signal or sleep."""

import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

OPTION: Final = "--record-waits"
EVENTS: Final = frozenset(
    {
        *("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "pty.spawn"),
        *("os.kill", "os.killpg", "signal.pthread_kill", "time.sleep"),
    }
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FOLDER", help="write the tests that wait into files there")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption(OPTION)
    # The process that only hands out the tests runs none.
    if folder and not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        return
    if folder:
        config.pluginmanager.register(Recorder(Path(folder)), "recorded waits")


class Recorder:
    """Listens to the interpreter's own audit events while a test runs."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / f"{os.getpid()}.txt"
        self._waits = False
        sys.addaudithook(self._hear)
        start = threading.Thread.start

        def heard(thread: threading.Thread) -> None:
            self._waits = True
            start(thread)

        threading.Thread.start = heard  # type: ignore[method-assign]

    def _hear(self, event: str, _: Any) -> None:
        if event in EVENTS:
            self._waits = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note the test when anything in it was heard."""
        self._waits = False
        result = yield
        if self._waits:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{item.nodeid}\n")
        return result
