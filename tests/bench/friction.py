"""Count which commands of models run unasked, and measure how long judging them takes.

    python tests/bench/friction.py [FILE] [--workspace DIR | --files N] [--sandbox NAME ...]
                                   [--mode MODE ...] [--json] [--write]

FILE (default: friction.jsonl beside this file) has a JSON object on each line: `id`, `label` and
`command`, in which `$WS` stands for the workspace. Labels: R reads inside the workspace, T runs
tests, a build or the project's interpreter, W writes inside the workspace, N needs the network,
D is dangerous or reaches outside, X is anything else.

Each command is judged as `nanocoder policy explain` judges it, and none runs. The workspace is a
clone of this repository, DIR, or with *--files* a repository of so many files in directories of
20: there, "listed" and "opened" show that no verdict walks the tree. Both, like "started", are the
most that Python does for one verdict; a listing inside a C library is not seen. Each pair of a
sandbox and a mode is judged by a process of its own, with an empty home, so a verdict is the first
on its command; the plugins are those of the default set, and milliseconds are those of processors.
The row "all" has every command. *--write* puts how many run unasked into
docs/explanation/performance.md.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.metadata import requires
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import nanocoder
from attrs import asdict, evolve, field, frozen
from nanocoder import Access, Config, Mode, ToolCall

HERE: Final = Path(__file__).parent
COMMANDS: Final = HERE / "friction.jsonl"
PAGE: Final = HERE.parents[1] / "docs/explanation/performance.md"
MARKS: Final = ("<!-- friction -->\n", "<!-- end of friction -->")
LABELS: Final[Mapping[str, str]] = {
    "R": "reads in the workspace",
    "T": "runs tests, a build or code",
    "W": "writes in the workspace",
    "N": "needs the network",
    "D": "is dangerous or reaches outside",
    "X": "is anything else",
}
ALL: Final = "all"
SANDBOXES: Final = ("auto", "none")
FILES_PER_DIRECTORY: Final = 20
COUNTED: Final = {
    "os.scandir": "listed",
    "os.listdir": "listed",
    "open": "opened",
    "subprocess.Popen": "started",
    "os.posix_spawn": "started",
    "os.fork": "started",
}
"""The events of Python's audit hooks that are counted, and under which name."""
REASONS_SHOWN: Final = 3
OF_THE_COMMAND: Final = re.compile(r"`[^`]*[`…]|'[^']*'|\"[^\"]*\"")
POSITION: Final = re.compile(r" \(characters? [\d-]+\)")
HEAD: Final = (
    *("sandbox", "mode", "label", "commands", "unasked", "outside", "asked", "denied", "late"),
    *("median ms", "p90 ms", "max ms", "listed", "opened", "started", "why it asks"),
)


@frozen
class Sample:
    """One command of the file, with the path of the workspace in it."""

    id: str
    label: str
    command: str


@frozen
class Ruled:
    """The verdict on one command, its cost, and whether its processes would leave the sandbox."""

    id: str
    label: str
    decision: str
    reason: str
    ms: float
    is_outside: bool
    counts: Mapping[str, int] = field(factory=dict)

    @property
    def is_late(self) -> bool:
        """Whether a policy missed its deadline."""
        return "took longer" in self.reason


def read(file: Path, workspace: Path) -> list[Sample]:
    """Return the commands of *file*, as they are issued in *workspace*."""
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [
        Sample(str(row["id"]), row["label"], row["command"].replace("$WS", str(workspace)))
        for row in rows
    ]


def judge_all(
    samples: Sequence[Sample], workspace: Path, sandbox: str, mode: str
) -> tuple[str, list[Ruled]]:
    """Return what processes run in, and the verdicts on *samples* in one session."""
    counts = counting()
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        flags = {"sandbox": sandbox, "mode": mode}
        config = Config.load(workspace, flags=flags, environment=environment)
        options = {"config": config, "environment": environment, "plugins": default_plugins()}
        with nanocoder.open_session(workspace, persist=False, **options) as session:
            info = evolve(session.info, is_trial=True)
            tool = session.plugins.tool("bash").real()

            def judge(sample: Sample) -> Ruled:
                # As one that was judged before: policies that count calls do not count it.
                call = ToolCall(sample.id, tool.name, {"command": sample.command}, edited=True)
                counts.clear()
                began = time.process_time()
                verdict = session.approvals.judge(call, tool, info).verdict
                ms = (time.process_time() - began) * 1000
                is_outside = not info.sandbox or verdict.processes is Access.OUTSIDE
                facts = str(verdict.decision), verdict.reason, ms, is_outside, dict(counts)
                return Ruled(sample.id, sample.label, *facts)

            judge(Sample("first", "X", "true"))  # imports what judges
            return info.sandbox or "none", [judge(sample) for sample in samples]


def default_plugins() -> nanocoder.Plugins:
    """Return the plugins of the default set: a checkout has examples, which judge calls, too."""
    needed = requires("nanocoder-set-default") or ()
    own = {re.split(r"[^\w-]", each)[0] for each in needed}
    plugins = nanocoder.Plugins.installed()
    for name, entry in list(plugins.entries.items()):
        if entry.distribution not in own:
            plugins.remove(name)
    return plugins


def counting() -> Counter[str]:
    """Return a counter of what this process lists, opens and starts from now on."""
    counts = Counter[str]()

    def note(event: str, _arguments: Any) -> None:
        if event in COUNTED:
            counts[COUNTED[event]] += 1

    sys.addaudithook(note)
    return counts


def judge_in_process(
    samples: Sequence[Sample], workspace: Path, sandbox: str, mode: str
) -> tuple[str, list[Ruled]]:
    """Return what `judge_all` returns, from a process that has judged nothing before."""
    # Spawned: a fork would have the caller's threads half, and what it has cached.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(judge_all, samples, workspace, sandbox, mode).result()


def rows_of(in_force: str, mode: str, ruled: Sequence[Ruled]) -> Iterator[dict[str, Any]]:
    """Yield a row of figures for each label that *ruled* has, and one for all of them."""
    for label in (*LABELS, ALL):
        if labelled := [each for each in ruled if label in {each.label, ALL}]:
            yield row(in_force, mode, label, labelled)


def row(in_force: str, mode: str, label: str, ruled: Sequence[Ruled]) -> dict[str, Any]:
    """Return the figures of *ruled*, the commands with one label."""
    decisions = Counter(each.decision for each in ruled)
    times = sorted(each.ms for each in ruled)
    most = {
        name: max(each.counts.get(name, 0) for each in ruled)
        for name in dict.fromkeys(COUNTED.values())
    }
    why = Counter(grouped(each.reason) for each in ruled if each.decision == "ask")
    return {
        "sandbox": in_force,
        "mode": mode,
        "label": label,
        "commands": len(ruled),
        "unasked": decisions["allow"],
        "outside": sum(each.decision == "allow" and each.is_outside for each in ruled),
        "asked": decisions["ask"],
        "denied": decisions["deny"],
        "late": sum(each.is_late for each in ruled),
        "median ms": round(statistics.median(times), 1),
        "p90 ms": round(times[len(times) * 9 // 10], 1),
        "max ms": round(times[-1], 1),
        **most,
        "why it asks": dict(why.most_common()),
    }


def grouped(reason: str) -> str:
    """Return a reason without what it quotes of the command, so that like reasons are equal."""
    clauses = POSITION.sub("", OF_THE_COMMAND.sub("…", reason)).split("; ")
    return "; ".join(dict.fromkeys(clauses))


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{'---|' * len(HEAD)}"
    for each in rows:
        why = [*each["why it asks"].items()]
        shown = "; ".join(f"{number} x {text}" for text, number in why[:REASONS_SHOWN])
        rest = sum(number for _, number in why[REASONS_SHOWN:])
        cells = [str(each[name]) for name in HEAD[:-1]]
        cells.append(f"{shown}; {rest} more" if rest else shown)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def summary(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table of how many run unasked, and what judging them costs."""
    pairs = [*dict.fromkeys((each["sandbox"], each["mode"]) for each in rows)]
    titles = [f"{mode}, {sandbox.replace('none', 'no sandbox')}" for sandbox, mode in pairs]
    yield f"| unasked: a command that | commands | {' | '.join(titles)} |"
    yield f"|{'---|' * (len(titles) + 2)}"
    for label, title in LABELS.items():
        own = [each for each in rows if each["label"] == label]
        if own:
            unasked = " | ".join(str(each["unasked"]) for each in own)
            yield f"| {title} | {own[0]['commands']} | {unasked} |"
    every = [each for each in rows if each["label"] == ALL]
    for figure in ("median ms", "p90 ms", "max ms", "listed"):
        figures = " | ".join(str(each[figure]) for each in every)
        yield f"| {figure} of all | {every[0]['commands']} | {figures} |"


def write(lines: Iterator[str]) -> None:
    """Put a table between the marks of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{MARKS[0]}{table}\n{MARKS[1]}{after}", encoding="utf-8")


def git(*words: str) -> None:
    """Run git and raise CalledProcessError if it fails."""
    subprocess.run(["git", *words], check=True, capture_output=True)


@contextmanager
def cloned() -> Iterator[Path]:
    """Yield a clone of this repository, outside /tmp, where few people keep one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        workspace = Path(scratch).resolve() / "clone"
        git("clone", "--quiet", "--depth=50", HERE.parents[1].as_uri(), str(workspace))
        yield workspace


@contextmanager
def synthetic(files: int) -> Iterator[Path]:
    """Yield a repository of so many small files."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        workspace = Path(scratch).resolve() / "made"
        for number in range(files):
            path = workspace / f"src/package{number // FILES_PER_DIRECTORY}/module{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"number = {number}\n", encoding="utf-8")
        git("init", "--quiet", str(workspace))
        git("-C", str(workspace), "add", "--all")
        yield workspace


def main() -> None:
    """Judge all commands and print a table, or JSON with each verdict."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?", default=COMMANDS)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workspace", type=Path, help="a repository (default: a clone of this one)")
    where.add_argument("--files", type=int, help="make a repository of so many files")
    parser.add_argument("--sandbox", action="append", help="as in the configuration")
    parser.add_argument("--mode", action="append", choices=[*map(str, Mode)])
    parser.add_argument("--json", action="store_true", help="print rows and verdicts as JSON")
    parser.add_argument("--write", action="store_true", help="put a summary into the page")
    options = parser.parse_args()
    rows, verdicts = list[dict[str, Any]](), list[dict[str, Any]]()
    with ExitStack() as stack:
        workspace = options.workspace
        if workspace is None:
            workspace = stack.enter_context(synthetic(options.files) if options.files else cloned())
        samples = read(options.file, workspace.resolve())
        for sandbox in options.sandbox or SANDBOXES:
            for mode in options.mode or map(str, Mode):
                in_force, ruled = judge_in_process(samples, workspace.resolve(), sandbox, mode)
                rows += rows_of(in_force, mode, ruled)
                facts = {"sandbox": in_force, "mode": mode}
                verdicts += [{**facts, **asdict(each)} for each in ruled]
    if options.write:
        write(summary(rows))
    if options.json:
        print(json.dumps({"rows": rows, "verdicts": verdicts}, indent=1))
    else:
        print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
