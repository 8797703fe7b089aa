"""Measure the tools that search, beside ripgrep as a process of its own.

    python tests/bench/search.py DIRECTORY [--files N] [--bytes N] [--large N] [--runs N] [--write]

DIRECTORY takes the tree of corpus.py, 50,000 files of 1.2 GB, which stays there for the next time.
A tool is called in this process, as the loop calls it; ripgrep is asked for the same lines, and its
output goes to /dev/null. They run in turn; figures are medians, and ratios the medians of paired
ratios. *--write* puts the table into
figures.txt.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from threading import Timer
from typing import Any

import corpus
from nanocoder import Cancel, Cancelled, SessionInfo, Tool, ToolContext, Workspace

PAGE = Path(__file__).parent / "figures.txt"


def plugin(name: str, module: str = "") -> Any:
    """Return a plugin by the name of its entry point, or a *module* of it."""
    (found,) = entry_points(group="nanocoder", name=name)
    return import_module(found.module + module)


grep = plugin("tool-grep")
find_ripgrep = plugin("tool-grep", ".programs").find_ripgrep
RIPGREP = ("--no-config", "--hidden", "--iglob=!.git", "--crlf", "--line-number", "--no-heading")
OPTIONS: Mapping[str, Callable[[Any], str]] = {
    "pattern": "--regexp={}".format,
    "glob": "--glob={}".format,
    "output": lambda _: "--count",
    "context": "--context={}".format,
    "ignore_case": lambda _: "--ignore-case",
}
glob, listing = plugin("tool-glob"), plugin("tool-list")
codemap, complexity = plugin("tool-codemap"), plugin("tool-complexity")
GREPS: Mapping[str, Mapping[str, Any]] = {
    "a rare word": {"pattern": "quokka_sighting"},
    "a short word": {"pattern": "quokka"},
    "a word and digits": {"pattern": r"quokka_sighting_\d+"},
    "either of two words": {"pattern": "quokka_sighting_1|sighting_quokka"},
    "any case": {"pattern": "QUOKKA_SIGHTING", "ignore_case": True},
    "two lines around": {"pattern": "quokka_sighting", "context": 2},
    "in files like *.py": {"pattern": "worker_lock_", "glob": "*.py"},
    "how many in each file": {"pattern": "parser", "output": "count"},
    "in nearly every line": {"pattern": "e"},
    "no word in it": {"pattern": r"[xyz]{3}\d[ab]+q"},
}
GLOBS = ("**/*.go", "**/*.{py,ts}", "**/*", "**/*.nowhere")


class Bench:
    """One measuring session."""

    def __init__(self, root: Path, runs: int) -> None:
        self.root = root
        self.runs = runs
        self.workspace = Workspace(root)
        self.program = find_ripgrep(root)
        self.rows: list[tuple[str, str, str]] = []

    def note(self, what: str, figure: str, beside: str = "") -> None:
        """Write one row down."""
        self.rows.append((what, figure, beside))
        print(f"{what:45} {figure:>12}  {beside}", flush=True)

    def call(self, tool: Tool[..., Any], arguments: Mapping[str, Any], **options: Any) -> float:
        """Return the seconds of one call."""
        with tempfile.TemporaryDirectory() as scratch:
            tmp = Path(scratch)
            context = ToolContext(
                "s", "c", self.workspace, self.root, make_tmp=lambda: tmp, **options
            )
            started = time.perf_counter()
            tool.invoke(context, tool.signature.check(arguments))
            return time.perf_counter() - started

    def compared(
        self,
        what: str,
        ours: Callable[[], float],
        others: Mapping[str, Sequence[str]],
        floors: Mapping[str, Callable[[], float]] | None = None,
    ) -> None:
        """Run a tool, functions and commands in turn, and note the medians."""
        beside_it = {name: partial(self.run, command) for name, command in others.items()}
        beside_it |= floors or {}
        ours()
        times: dict[str, list[float]] = {"": [], **{name: [] for name in beside_it}}
        for _ in range(self.runs):
            times[""].append(ours())
            for name, other in beside_it.items():
                times[name].append(other())
        beside = []
        for name in beside_it:
            ratio = statistics.median(a / b for a, b in zip(times[""], times[name], strict=True))
            beside.append(f"{ratio:.2f} x {name} ({statistics.median(times[name]):.2f} s)")
        self.note(what, f"{statistics.median(times['']):.2f} s", ", ".join(beside))

    def run(self, command: Sequence[str]) -> float:
        """Return the seconds of one command."""
        started = time.perf_counter()
        subprocess.run(
            command,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return time.perf_counter() - started

    def scan(self) -> float:
        """Return the seconds of a bare walk, which looks at no file and knows no rule."""
        started = time.perf_counter()
        folders = [os.fspath(self.root)]
        while folders:
            with os.scandir(folders.pop()) as entries:
                folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        return time.perf_counter() - started

    def greps(self) -> None:
        """Compare grep with ripgrep alone."""
        settings = grep.Settings(time_limit_s=300)
        for what, arguments in GREPS.items():
            flags = [*RIPGREP, *(OPTIONS[name](arguments[name]) for name in arguments)]
            self.compared(
                f"grep: {what}",
                lambda asked=arguments: self.call(grep.grep, asked, settings=settings),  # type: ignore[misc]
                {"rg": [self.program, *flags]},
            )

    def globs(self) -> None:
        """Compare glob, what it cannot do without, and list_files with ripgrep's lists."""
        program = self.program
        files = [program, "--no-config", "--files", "--hidden"]
        for pattern in GLOBS:
            only = [] if pattern == "**/*" else [f"--glob={pattern}"]
            asked = {"pattern": pattern}
            self.compared(
                f"glob: {pattern}",
                lambda asked=asked: self.call(glob.glob, asked),  # type: ignore[misc]
                {
                    "rg --files": [*files, *only],
                    "rg --files --sortr=modified": [*files, "--sortr=modified", *only],
                },
                {"os.scandir": self.scan},
            )
        self.compared(
            "the floor of **/*: rg --files and bare stats",
            lambda: self.timed(files),
            {"rg --files": files},
        )
        for depth in (2, 20):
            self.compared(
                f"list_files, {depth} levels",
                lambda depth=depth: self.call(listing.list_files, {"depth": depth}),  # type: ignore[misc]
                {"rg --files": files},
            )

    def timed(self, command: Sequence[str]) -> float:
        """Return how long a list of files takes with the times of all, in no order."""
        started = time.perf_counter()
        listed = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, check=True).stdout
        root = os.open(self.root, os.O_RDONLY)
        for name in listed.splitlines():
            os.stat(name, dir_fd=root, follow_symlinks=False)
        os.close(root)
        return time.perf_counter() - started

    def cancelled(self) -> None:
        """Note how long calls go on that are cancelled after a tenth of a second."""
        calls: Sequence[tuple[Tool[..., Any], Mapping[str, Any], Any]] = (
            (grep.grep, {"pattern": r"[xyz]{3}\d[ab]+q"}, None),
            (glob.glob, {"pattern": "**/*"}, None),
            (listing.list_files, {"depth": 20}, None),
            (complexity.code_complexity, {"extensions": [".py", ".ts", ".go", ".c"]}, None),
        )
        for tool, arguments, settings in calls:
            cancel = Cancel()
            since: list[float] = []

            def stop(cancel: Cancel = cancel, since: list[float] = since) -> None:
                since.append(time.perf_counter())
                cancel.set()

            timer = Timer(0.1, stop)
            timer.start()
            try:
                self.call(tool, arguments, settings=settings, cancelled=cancel)
            except Cancelled:
                took = (time.perf_counter() - since[0]) * 1000
                self.note(f"{tool.name}, cancelled: until it ends", f"{took:.0f} ms")
            finally:
                timer.cancel()


def peak(path: Path) -> int:
    """Return the peak memory in kilobytes of a process that searches a file of a gigabyte."""
    script = (
        "import re, sys; from importlib import import_module; from pathlib import Path;"
        "from nanocoder import ToolContext, Workspace; module = import_module(sys.argv[2]);"
        "grep = module.grep;"
        "root = Path(sys.argv[1]);"
        "context = ToolContext('s', 'c', Workspace(root), root, make_tmp=lambda: root.parent);"
        "asked = grep.signature.check({'pattern': r'needle \\d', 'context': 2});"
        "assert grep.invoke(context, asked).metadata['count'] == 2;"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    command = [sys.executable, "-c", script, str(path), grep.__name__]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


def memory(bench: Bench, large: int) -> None:
    """Note the peak memory of a search in a file of *large* bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        line = b"some words of no interest, and then some more of them\n"
        with (Path(scratch) / "large.txt").open("wb") as file:
            for _ in range(2):
                for _ in range(large // 2 // len(line) // 10_000):
                    file.write(line * 10_000)
                file.write(b"a needle 7 in it\n")
        figure = f"{peak(Path(scratch)) / 1024:.0f} MB"
        bench.note(f"grep: peak memory, {large / 1e9:g} GB file", figure)


def maps(bench: Bench) -> None:
    """Note what the first and the second map of 2,000 files cost."""
    sources = sorted(Path(os.__file__).parent.rglob("*.py"))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "code"
        size = 0
        for number in range(2_000):
            data = sources[number % len(sources)].read_bytes()[:40_000]
            path = root / f"package{number // 50}" / f"module{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"# %d\n" % number + data)
            os.utime(path, (1_600_000_000, 1_600_000_000))
            size += len(data)
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        for name in ("first", "second"):
            (resource,) = codemap.nanocoder_resources()
            index = resource.open(SessionInfo("s", root), None)
            bench.workspace, bench.root = Workspace(root), root
            took = bench.call(codemap.code_map, {}, resource=lambda _, index=index: index)
            index.close()
            bench.note(
                f"code_map: {name} session", f"{took:.2f} s", f"2,000 files, {size / 1e6:.0f} MB"
            )


def write(rows: Sequence[tuple[str, str, str]]) -> None:
    """Put the table between the marks of the page."""
    table = ["| what | median | beside |", "| --- | --- | --- |"]
    table += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    text = PAGE.read_text(encoding="utf-8")
    marked = re.compile(
        r"(<!-- search figures -->\n).*?(<!-- end of search figures -->)", re.DOTALL
    )
    fresh = marked.sub(lambda found: found[1] + "\n".join(table) + "\n" + found[2], text)
    PAGE.write_text(fresh, encoding="utf-8")


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--files", type=int, default=corpus.FILES)
    parser.add_argument("--bytes", type=int, default=corpus.BYTES)
    parser.add_argument("--large", type=int, default=1_000_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    root = options.directory.resolve()
    corpus.make(root, files=options.files, size=options.bytes)
    bench = Bench(root, options.runs)
    bench.greps()
    bench.globs()
    bench.cancelled()
    memory(bench, options.large)
    maps(bench)
    if options.write:
        write(bench.rows)


if __name__ == "__main__":
    main()
