"""Run the tests that depend on other processes again and again on a machine that is too busy.

The whole suite runs first and shows which tests start a process or a thread, send a signal or
sleep. These then run round by round, beside busy loops, until each has passed `--rounds` times or
`--minutes` are over. The output names what failed, and says how far it came.
"""

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "plugins", "contrib")
TESTS_AT_ONCE = 400
PLUGIN = ("-p", "recorder")


def main(arguments: Sequence[str]) -> int:
    """Return 1 when any test failed."""
    options = _parser().parse_args(arguments)
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as folder, busy_loops(options.busy):
        record = (*PLUGIN, f"--record-waits={folder}")
        failed = _pytest([*record, *options.paths], options.workers)
        tests = sorted({line for file in Path(folder).iterdir() for line in _lines(file)})
        print(f"{len(tests)} tests wait for something; each runs {options.rounds} times")
        passed = 0
        for number in range(1, options.rounds + 1):
            for start in range(0, len(tests), TESTS_AT_ONCE):
                if time.monotonic() > end:
                    _tell(passed, options)
                    return failed
                part = tests[start : start + TESTS_AT_ONCE]
                if _pytest(part, options.workers):
                    failed = 1
                else:
                    passed += len(part)
            print(f"round {number} of {options.rounds} is over", flush=True)
    _tell(passed, options)
    return failed


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep *count* processes busy meanwhile."""
    loops = [multiprocessing.Process(target=_turn, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def _turn() -> None:
    while True:
        pass


def _pytest(arguments: Sequence[str], workers: int) -> int:
    base = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short"]
    parallel = ["-n", str(workers), "--dist", "loadgroup"] if workers else []
    return subprocess.run([*base, *parallel, *arguments], cwd=ROOT, check=False).returncode != 0


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _tell(runs: int, options: argparse.Namespace) -> None:
    print(f"{runs} runs of tests that wait passed beside {options.busy} busy loops", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", default=FOLDERS, help="tests, default: all packages")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--busy", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
