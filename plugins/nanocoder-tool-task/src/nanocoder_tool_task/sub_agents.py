"""Sub-agents that work at the same time, each on a thread, and the records of the session."""

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated

from attrs import define, evolve, field, frozen
from nanocoder import Cancel, ToolContext, ToolError

from nanocoder_tool_task.agent import Agent, Job, Outcome, run_agent

MAX_AGENTS = 8
CLOSE_GRACE_S = 5.0
ENDED = "[{} has finished: {}; task_result reads its answer]"
MAX_RECORDS = 64
"""The most sub-agents whose results a session can still read."""


@frozen
class Assignment:
    """One task."""

    description: Annotated[str, "Title."]
    prompt: Annotated[str, "All it needs."]


def run_together(ctx: ToolContext, jobs: Sequence[Job]) -> list[Outcome]:
    """Return the outcome of each sub-agent, in order; one that fails stops no other."""
    outcomes: dict[int, Outcome] = {}
    errors: list[BaseException] = []

    def work(index: int) -> None:
        try:
            outcomes[index] = run_agent(ctx, jobs[index])
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(jobs))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [outcomes[index] for index in range(len(jobs))]


@define
class Record:
    """A sub-agent whose result can be read: one in the background, or one with a stored patch."""

    id: str
    description: str
    outcome: Outcome | None = None
    is_reported: bool = False
    stop: Callable[[], None] = lambda: None
    ended: Cancel = field(factory=Cancel)
    thread: threading.Thread | None = None


class SubAgents:
    """The sub-agents of a session that outlive the call that started them."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def start(self, agent: Agent) -> Record:
        """Let *agent* work in the background."""
        record = self._add(agent.job.description)
        record.stop = agent.interrupt

        def work() -> None:
            try:
                record.outcome = evolve(agent.work(), id=record.id)
            except Exception as error:  # noqa: BLE001 - the reader of its result must see the error
                problem = f"it broke: {type(error).__name__}: {error}"
                record.outcome = Outcome(
                    record.description, error_class="tool_broken", problem=problem, id=record.id
                )
            finally:
                record.ended.set("done")

        record.thread = threading.Thread(target=work, name=f"nanocoder-{record.id}", daemon=True)
        record.thread.start()
        return record

    def keep(self, outcome: Outcome) -> Outcome:
        """Store the outcome of a sub-agent, and return it with its new id."""
        record = self._add(outcome.description)
        record.outcome, record.is_reported = evolve(outcome, id=record.id), True
        record.ended.set("done")
        return record.outcome

    def find(self, agent_id: str) -> Record:
        """Return a sub-agent by its id; raises ToolError (unknown_agent)."""
        with self._lock:
            record = self._records.get(agent_id)
        if record is None:
            existing = ", ".join(self._records) or "none"
            raise ToolError(
                f"there is no sub-agent {agent_id!r}; there are: {existing}",
                error_class="unknown_agent",
            )
        return record

    def all(self) -> list[Record]:
        """Return all of them, oldest first."""
        with self._lock:
            return list(self._records.values())

    def news_for_model(self, cancel: Cancel | None) -> list[str]:
        """Return a line for each ended sub-agent that was not read yet, once for each.

        With *cancel* this waits for working ones: the run would end without their answers.
        Raises: Cancelled.
        """
        if cancel is not None:
            for record in self.all():
                wait_for(record, None, cancel)
        ended = [each for each in self.all() if each.ended.is_set() and not each.is_reported]
        for record in ended:
            record.is_reported = True
        return [ENDED.format(record.id, record.description) for record in ended]

    def close(self) -> None:
        """Stop all; each removes its worktree when it ends."""
        for record in self.all():
            record.stop()
        deadline = time.monotonic() + CLOSE_GRACE_S
        for record in self.all():
            if record.thread is not None:
                record.thread.join(max(0.0, deadline - time.monotonic()))

    def _add(self, description: str) -> Record:
        with self._lock:
            record = Record(f"a{next(self._numbers)}", description)
            self._records[record.id] = record
            # Only ended sub-agents are dropped: a running one must stay accessible.
            ended_ids = [each.id for each in self._records.values() if each.ended.is_set()]
            for agent_id in ended_ids[: max(0, len(self._records) - MAX_RECORDS)]:
                del self._records[agent_id]
        return record


def wait_for(record: Record, seconds: float | None, cancel: Cancel) -> bool:
    """Wait until *record* has ended, the time (None: no limit) is over, or *cancel* is set."""
    wake = threading.Event()
    unsubscribes = [flag.on_set(wake.set) for flag in (record.ended, cancel)]
    wake.wait(seconds)
    for unsubscribe in unsubscribes:
        unsubscribe()
    cancel.check()
    return record.ended.is_set()
