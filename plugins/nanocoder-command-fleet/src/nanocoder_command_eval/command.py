"""`nanocoder eval`: a suite becomes a batch, its results become figures, criteria an exit code."""

import json
import math
from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from attrs import evolve
from nanocoder import Cancel, Host, UsageError, did_you_mean
from nanocoder_kit_batch import Batch, Defaults, Results, read_tasks
from nanocoder_kit_batch.consent import refuse_unread_checks
from nanocoder_kit_batch.installed import names_of_sets
from nanocoder_kit_batch.own_files import own_folder, write_own
from nanocoder_kit_batch.suites import RESOURCE, SuiteTask, read_folder
from nanocoder_kit_process.trees import remove_tree

from nanocoder_command_eval.comparison import NOTES, compare
from nanocoder_command_eval.criteria import read_criteria
from nanocoder_command_eval.figures import Figures
from nanocoder_command_eval.page import figures_page
from nanocoder_command_eval.quiet import Quiet

COMPARE: Final = "compare"
TASKS: Final = "tasks.txt"
"""No name of ours: a program that reads results as lines of JSON must find each task once."""


def run(arguments: Namespace, host: Host) -> int:
    """Evaluate or compare; returns 1 when a criterion is not met, 130 when interrupted."""
    if arguments.suite == COMPARE:
        return compare(arguments, host)
    _refuse_wrong(arguments)
    criteria = read_criteria(arguments.criteria)
    tasks = [task for task in find_suite(arguments.suite, host) if arguments.only in task.name]
    if not tasks:
        raise UsageError(f"the suite {arguments.suite!r} has no such task")
    if not arguments.results:
        raise UsageError("name a directory for the results: --results DIR")
    if Path(arguments.suite).is_dir():  # a suite of a plugin is installed, as its code is
        checks = {task.name: task.check for task in tasks}
        refuse_unread_checks(host, Path(arguments.suite), checks, is_agreed=arguments.yes)
    folder = Path(arguments.results)
    batch = _batch(arguments, host, folder, tasks)
    keys = {task.key for task in batch.tasks}
    watcher = _watcher(arguments, host, [] if arguments.force else _results(folder, keys))
    if not watcher.is_spent:
        with host.signals as signals, signals.obeyed_by(lambda _number: watcher.cancel.set()):
            batch.run(watcher, watcher.cancel)
        if signals.number:
            return signals.exit_code
    results = _results(folder, keys)
    kinds = {task.name: task.kind for task in tasks}
    figures = Figures.of(arguments.suite, results, kinds)
    figures = evolve(figures, plugins=_versions(arguments, host))
    unmet = criteria.unmet(figures)
    if watcher.is_spent and len(results) < len(batch.tasks):
        spent = f"the budget of ${arguments.budget:g} is spent"
        unmet.append(f"{spent}: {len(results):,} of {len(batch.tasks):,} runs are done")
    _write(folder, {**figures.data(), "criteria": dict(criteria.limits), "unmet": unmet})
    write_own(folder, "summary.html", [figures_page(figures, unmet).encode()])
    _show(arguments, host, figures, unmet)
    _explain(results, host)
    return 1 if unmet else 0


def _refuse_wrong(arguments: Namespace) -> None:
    if arguments.others:
        raise UsageError(f"unknown argument {arguments.others[0]!r}; one suite at a time, please")
    if arguments.page or arguments.fail_if_worse:
        raise UsageError("--page and --fail-if-worse belong to: nanocoder eval compare A B")
    if arguments.runs is not None and arguments.runs < 1:
        raise UsageError(f"--runs: expected a number of at least 1, got {arguments.runs}")
    if arguments.budget is not None and not 0 < arguments.budget < math.inf:
        raise UsageError(f"--budget: expected a number above 0, got {arguments.budget:g}")


def _watcher(arguments: Namespace, host: Host, earlier: list[dict[str, Any]]) -> Quiet:
    spent = sum(result["cost"] or 0.0 for result in earlier)
    return Quiet(host, Cancel(), arguments.budget, spent)


def _results(folder: Path, keys: Collection[str]) -> list[dict[str, Any]]:
    return [result for result in Results(folder) if result["key"] in keys]


def _versions(arguments: Namespace, host: Host) -> dict[str, str]:
    """Return the plugins that the runs had, with their versions."""
    entries = Host(str(host.cwd), arguments.set or None, **host.flags).plugins.entries
    return {name: entry.version for name, entry in sorted(entries.items())}


def find_suite(name: str, host: Host) -> list[SuiteTask]:
    """Return the tasks of a folder, or of an installed suite; raises UsageError."""
    if Path(name).is_dir():
        return read_folder(Path(name))
    offered = host.plugins.offered("resources", f"{RESOURCE}{name}")
    if offered is None:
        names = [offer["name"] for _, offer in host.plugins.offers("resources")]
        have = [each.removeprefix(RESOURCE) for each in names if each.startswith(RESOURCE)]
        hint = did_you_mean(name, have, ".")
        listed = ", ".join(have) or "none"
        raise UsageError(f"there is no suite or folder {name!r}{hint} Installed suites: {listed}")
    plugin, suite = offered
    tasks: list[SuiteTask] = suite.open(None, host.plugins.settings(plugin))
    return tasks


def _batch(arguments: Namespace, host: Host, folder: Path, tasks: list[SuiteTask]) -> Batch:
    runs, lines = arguments.runs or 1, []
    with Results(folder):  # another evaluation may work with the same sources
        sources = {task.name: _laid_out(task, folder) for task in tasks}
    for task in tasks:
        source = sources[task.name]
        row: dict[str, Any] = {"prompt": task.prompt, "check": task.command}
        row |= {"cwd": str(source.resolve())}
        row |= {"functions": list(task.functions)} if task.functions else {}
        lines += [{"id": f"{task.name}#{n}", "seed": n, **row} for n in range(1, runs + 1)]
    write_own(folder, TASKS, (json.dumps(line).encode() + b"\n" for line in lines))
    defaults = Defaults(
        cwd=host.cwd,
        set=arguments.set,
        model=arguments.model or host.config.core.model,
        mode=arguments.mode or "auto",
        sets=names_of_sets(),
        providers=[offer["name"] for _, offer in host.plugins.offers("providers")],
    )
    options = {"workers": arguments.workers or 0, "scheduler": arguments.scheduler}
    jobs = read_tasks(str(folder / TASKS), defaults)
    return Batch(host, jobs, folder, arguments.runner, options, force=arguments.force)


def _laid_out(task: SuiteTask, folder: Path) -> Path:
    """Return the folder with the initial files of *task*, cleared of earlier runs."""
    below = ("sources", task.digest, task.name)
    source = folder.joinpath(*below)
    with own_folder(folder, below):  # without links on its path
        try:
            remove_tree(source)
        except OSError as error:
            problem = f"{source} cannot be removed as a whole; remove it by hand"
            raise UsageError(problem) from error
    task.lay_out(source)
    return source


def _write(folder: Path, data: dict[str, Any]) -> None:
    write_own(folder, NOTES, [json.dumps(data, indent=2).encode() + b"\n"])


def _explain(results: list[dict[str, Any]], host: Host) -> None:
    """Report the first error if every run ended with one."""
    errors = [
        str(result["error"].get("message") or "unknown")
        for result in results
        if result.get("error")
    ]
    if errors and len(errors) == len(results):
        host.say(f"every run ended with an error; the first: {errors[0]}")


def _show(arguments: Namespace, host: Host, figures: Figures, unmet: list[str]) -> None:
    data: dict[str, Any] = {**figures.data(), "unmet": unmet}
    if arguments.output == "json":
        host.print_json(data)
        return
    host.print_table(("figure", "value"), figures.rows())
    if figures.failures:
        host.print_line()
        host.print_table(("failures", "runs"), [*figures.failures.items()])
    for line in unmet:
        host.say(f"not met: {line}")
