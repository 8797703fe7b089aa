"""`nanocoder batch`: from the words of the command line to an exit code."""

from argparse import Namespace
from pathlib import Path
from typing import Final

from nanocoder import Cancel, Host, UsageError
from nanocoder_kit_batch import Batch, Defaults, Task, read_tasks
from nanocoder_kit_batch.consent import refuse_unread_checks
from nanocoder_kit_batch.incident import read_note
from nanocoder_kit_batch.installed import names_of_sets
from nanocoder_kit_batch.progress import watcher_of
from nanocoder_kit_batch.summary import write_summary

MODES: Final = ("plan", "ask", "edits", "auto")
"""Each asks about less than the one before."""
ASKS: Final = "ask"
SUMMARY: Final = "summary.html"
NO_RESULTS: Final = "name a directory for the results: --results DIR"


def run(arguments: Namespace, host: Host) -> int:
    """Work on the tasks; returns 0 if all are solved, 1 if some failed, 130 when interrupted."""
    results = arguments.results or _results_of(arguments.tasks, host)
    note = read_note(arguments.note) if arguments.note else None
    tasks = read_tasks(arguments.tasks, _defaults(arguments, host))
    folder, cancel = Path(results), Cancel()
    if arguments.tasks != "-":
        checks = {task.id: task.check for task in tasks}
        tasks_path = Path(arguments.tasks)
        chosen = arguments.mode or str(host.config.core.mode)
        liberties = {task.id: _liberties(task, chosen, tasks_path, host) for task in tasks}
        refuse_unread_checks(host, tasks_path, checks, liberties, is_agreed=arguments.yes)
    batch = Batch(
        host=host,
        tasks=tasks,
        folder=folder,
        runner=arguments.runner,
        options={"workers": _workers(arguments), "scheduler": arguments.scheduler},
        force=arguments.force,
        retry_failed=arguments.retry_failed,
    )
    with host.signals as signals, signals.obeyed_by(lambda _number: cancel.set()):
        tally = batch.run(watcher_of(host, results), cancel)
    write_summary(folder / SUMMARY, f"Batch {Path(arguments.tasks).name}", batch, note)
    if note:
        note.keep(folder)
    if signals.number:
        return signals.exit_code
    return 0 if tally.solved == len(tasks) else 1


def _liberties(task: Task, chosen: str, path: Path, host: Host) -> str:
    """Return the rights that *task* of the file *path* takes beyond *chosen*, or "".

    They name the model, too: one that follows a script does what a stranger wrote.
    """
    texts = list[str]()
    if task.mode and MODES.index(task.mode) > max(MODES.index(chosen), MODES.index(ASKS)):
        texts.append(f"works in mode {task.mode} with {task.model or 'your model'}")
    folders = (path.resolve().parent, host.cwd.resolve())
    if not any(Path(task.cwd).is_relative_to(folder) for folder in folders):
        texts.append(f"gives a copy of {task.cwd} to {task.model or 'your model'}")
    for name, limit in task.budget.items():
        yours = getattr(host.config.core, name)
        if yours and limit > yours:  # 0 is no limit
            texts.append(f"sets {name} to {limit:,}, and you to {yours:,}")
    return "; ".join(texts)


def _results_of(tasks: str, host: Host) -> str:
    """Return the default directory of the results, and print it."""
    if tasks == "-":
        raise UsageError(NO_RESULTS)
    folder = f"{Path(tasks).stem}-results"
    if Path(tasks).exists():
        host.say(f"the results go into {folder}; --results DIR takes another directory")
    return folder


def _defaults(arguments: Namespace, host: Host) -> Defaults:
    return Defaults(
        cwd=host.cwd,
        set=arguments.set,
        model=arguments.model or "",
        mode=arguments.mode or "",
        sets=names_of_sets(),
        providers=[offer["name"] for _, offer in host.plugins.offers("providers")],
    )


def _workers(arguments: Namespace) -> int:
    workers = arguments.workers or 0
    if arguments.workers is not None and workers < 1:
        raise UsageError(f"--workers: expected a number of at least 1, got {workers}")
    return workers
