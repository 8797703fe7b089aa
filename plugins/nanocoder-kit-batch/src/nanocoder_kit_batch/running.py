"""A batch from tasks to results: tasks with a result are skipped, the others are run."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from attrs import define
from nanocoder import Cancel, Cancelled, Host, find_offer
from nanocoder_kit_files.redact import Redactor

from nanocoder_kit_batch.results import Results
from nanocoder_kit_batch.tally import Tally, failure_of
from nanocoder_kit_batch.tasks import Task
from nanocoder_kit_batch.work import NO_USAGE, SHELL, do_job
from nanocoder_kit_batch.workspaces import remove_own_folder


class Watcher(Protocol):
    """Shows a batch while it works."""

    def started(self, total: int, skipped: int, notices: Iterable[str]) -> None:
        """Begin: *skipped* of *total* tasks have a result already."""

    def finished(self, result: Mapping[str, Any], tally: Tally) -> None:
        """Show that a task has a result; *tally* has all of this start."""

    def ended(self, tally: Tally, seconds: float, *, interrupted: bool) -> None:
        """End: *tally* has the results of all tasks, those of earlier starts, too."""


@define
class Batch:
    """One start of a batch. *options* are for the runner: "workers" and "scheduler"."""

    host: Host
    tasks: list[Task]
    folder: Path
    runner: str
    options: Mapping[str, Any]
    force: bool = False
    retry_failed: bool = False

    def run(self, watcher: Watcher, cancel: Cancel) -> Tally:
        """Work on each task without a result, and return the figures of all of them.

        Raises: UsageError, PluginError.
        """
        began = time.monotonic()
        plugin, runner = find_offer(self.host.plugins, "runners", "runner", self.runner)
        settings = self.host.plugins.settings(plugin)
        self._refuse_checks_without_shell()
        with Results(self.folder) as results:
            waiting, notices = self._waiting(results)
            watcher.started(len(self.tasks), len(self.tasks) - len(waiting), notices)
            jobs = [task.job() for task in waiting]
            try:
                self._work(
                    runner.run(do_job, jobs, cancel, self.options, settings), results, watcher
                )
            finally:
                remove_own_folder()
            tally = self._tally(results)
            watcher.ended(tally, time.monotonic() - began, interrupted=cancel.is_set())
        return tally

    def _work(self, outcomes: Any, results: Results, watcher: Watcher) -> None:
        tally = Tally()
        with closing(outcomes):
            for job, outcome in outcomes:
                if isinstance(outcome, Cancelled):
                    continue  # it has no result, and is run again another time
                is_lost = isinstance(outcome, BaseException)
                ended = lost_job(job, outcome) if is_lost else outcome
                tally.add(ended["result"])
                results.add(ended["result"], ended["artifacts"])
                watcher.finished(ended["result"], tally)

    def _waiting(self, results: Results) -> tuple[list[Task], list[str]]:
        """Return the tasks without a result, and notices; drop old results."""
        keys = {task.id: task.key for task in self.tasks}
        finished, stale, again = set[str](), set[str](), set[str]()
        for result in results:
            key = result["key"]
            if keys.get(result["id"], key) != key:
                stale.add(key)
            elif result["id"] in keys:
                is_again = self.force or (self.retry_failed and failure_of(result))
                (again if is_again else finished).add(key)
        results.drop(stale | again)
        notices = [f"{len(stale):,} tasks have changed since, and run again"] if stale else []
        return [task for task in self.tasks if task.key not in finished], notices

    def results_of_tasks(self, results: Results) -> Iterator[dict[str, Any]]:
        """Yield the result of each task that has one, the first if a key occurs twice.

        No batch writes a key twice, but a copied line could pass for the result of a failed task.
        """
        waiting = {task.key for task in self.tasks}
        for result in results:
            if result["key"] in waiting:
                waiting.remove(result["key"])
                yield result

    def _tally(self, results: Results) -> Tally:
        tally = Tally()
        for result in self.results_of_tasks(results):
            tally.add(result)
        return tally

    def _refuse_checks_without_shell(self) -> None:
        if any(task.check for task in self.tasks) and SHELL not in self.host.plugins.tools():
            find_offer(self.host.plugins, "tools", "tool for the checks of tasks:", SHELL)


def lost_job(job: Mapping[str, Any], error: BaseException) -> dict[str, Any]:
    """Return the result of a job that a runner could not finish."""
    message = f"{type(error).__name__}: {error}"
    result = {
        **{name: job[name] for name in ("id", "key", "model", "mode", "set", "seed")},
        "stop_reason": "failed",
        "checked": None,
        "usage": NO_USAGE,
        "cost": None,
        "files_changed": [],
        "error": {"class": "worker_lost", "message": Redactor().redact(message)},
        "seconds": 0.0,
    }
    return {"result": result, "artifacts": {}}
