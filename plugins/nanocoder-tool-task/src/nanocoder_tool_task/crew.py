"""Sub-agents that work at the same time, each on a thread of its own."""

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated

from attrs import define, evolve, field, frozen
from nanocoder import Cancel, ToolContext, ToolError

from nanocoder_tool_task.agent import Agent, Job, Outcome, attempted

MAX_AGENTS = 8
CLOSE_GRACE_S = 5.0
MAX_KEPT = 64
"""How many finished sub-agents can still be asked for."""


@frozen
class Assignment:
    """One task."""

    description: Annotated[str, "Short title."]
    prompt: Annotated[str, "All it needs."]


def run_together(ctx: ToolContext, jobs: Sequence[Job]) -> list[Outcome]:
    """Return what each sub-agent came to, in order; one that fails stops no other."""
    outcomes: dict[int, Outcome] = {}
    broken: list[BaseException] = []

    def work(index: int) -> None:
        try:
            outcomes[index] = attempted(ctx, jobs[index])
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            broken.append(error)

    threads = [
        threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(jobs))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return [outcomes[index] for index in range(len(jobs))]


@define
class Known:
    """A sub-agent that can be asked for: one in the background, or one whose patch was kept."""

    id: str
    description: str
    outcome: Outcome | None = None
    is_told: bool = False
    stop: Callable[[], None] = lambda: None
    ended: Cancel = field(factory=Cancel)
    thread: threading.Thread | None = None


class Crew:
    """The sub-agents of a session that outlive the call that started them."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def start(self, agent: Agent) -> Known:
        """Let *agent* work in the background."""
        known = self._added(agent.job.description)
        known.stop = agent.interrupt

        def work() -> None:
            try:
                known.outcome = evolve(agent.work(), id=known.id)
            except Exception as error:  # noqa: BLE001 - whoever asks for it has to learn of it
                problem = f"it broke: {type(error).__name__}: {error}"
                known.outcome = Outcome(
                    known.description, error_class="tool_broken", problem=problem, id=known.id
                )
            finally:
                known.ended.set("done")

        known.thread = threading.Thread(target=work, name=f"nanocoder-{known.id}", daemon=True)
        known.thread.start()
        return known

    def keep(self, outcome: Outcome) -> Outcome:
        """Keep what has come of a sub-agent, and return it with the id that it has now."""
        known = self._added(outcome.description)
        known.outcome, known.is_told = evolve(outcome, id=known.id), True
        known.ended.set("done")
        return known.outcome

    def find(self, agent_id: str) -> Known:
        """Return a sub-agent by its id; raises ToolError (unknown_agent)."""
        with self._lock:
            found = self._known.get(agent_id)
        if found is None:
            have = ", ".join(self._known) or "none"
            raise ToolError(
                f"there is no sub-agent {agent_id!r}; there are: {have}",
                error_class="unknown_agent",
            )
        return found

    def all(self) -> list[Known]:
        """Return all of them, oldest first."""
        with self._lock:
            return list(self._known.values())

    def news(self) -> list[Known]:
        """Return those that ended since the last time, and that nobody has read."""
        found = [one for one in self.all() if one.ended.is_set() and not one.is_told]
        for one in found:
            one.is_told = True
        return found

    def close(self) -> None:
        """Stop all; their worktrees go with them."""
        for one in self.all():
            one.stop()
        deadline = time.monotonic() + CLOSE_GRACE_S
        for one in self.all():
            if one.thread is not None:
                one.thread.join(max(0.0, deadline - time.monotonic()))

    def _added(self, description: str) -> Known:
        with self._lock:
            known = Known(f"a{next(self._numbers)}", description)
            self._known[known.id] = known
            old = [one.id for one in self._known.values() if one.ended.is_set()]
            for agent_id in old[: max(0, len(self._known) - MAX_KEPT)]:
                del self._known[agent_id]
        return known


def waited(known: Known, seconds: float, cancel: Cancel) -> bool:
    """Wait until *known* has ended, the time is over, or somebody interrupts."""
    wake = threading.Event()
    forget = [one.on_set(wake.set) for one in (known.ended, cancel)]
    wake.wait(seconds)
    for one in forget:
        one()
    cancel.check()
    return known.ended.is_set()
