"""The state of one rollout, and the steps that lead from one state to the next."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Self

from attrs import asdict, evolve, frozen
from nanocoder import UsageError
from nanocoder_files import open_private

FAILURES_IN_A_ROW: Final = 2
ALL: Final = 100
TYPES: Final = {"candidate": str, "stable": str, "state": str, "stage": int, "failures": int}
ITEMS: Final = {"stages": int, "judged": str, "history": dict}
NOTE: Final = ("at", "event", "share", "reason")
NAME: Final = re.compile(r"[A-Za-z0-9][!-~]{0,199}")
"""A set or a requirement. Scripts pass it on, so it is one word, and no option."""
State = Literal["underway", "done", "withdrawn"]


@frozen
class Rollout:
    """A new set, *candidate*, that replaces *stable* in stages.

    *stages* are percentages that rise to 100, *stage* is the index of the present one. *passed*
    is true after the gate was passed in this stage, *failures* is the number of failures since.
    *judged* are the digests of the evaluations used. *history* is append-only.
    """

    candidate: str
    stable: str
    stages: tuple[int, ...]
    stage: int = 0
    state: State = "underway"
    passed: bool = False
    failures: int = 0
    judged: tuple[str, ...] = ()
    history: tuple[Mapping[str, str], ...] = ()

    @property
    def share(self) -> int:
        """The percentage of users who get the candidate."""
        if self.state == "underway":
            return self.stages[self.stage]
        return ALL if self.state == "done" else 0

    def set_for(self, key: str) -> str:
        """Return the set for a person or a machine; later stages only add people to it."""
        digest = hashlib.sha256(f"{self.candidate}\0{key}".encode("utf-8", "surrogatepass"))
        percentile = int.from_bytes(digest.digest()[:8], "big") % ALL
        return self.candidate if percentile < self.share else self.stable

    def gated(self, digest: str, problems: list[str]) -> Self:
        """Return the state after an evaluation; the second failure in a row withdraws the set.

        Raises: UsageError when the same evaluation counted before.
        """
        self._require_underway()
        if digest in self.judged:
            raise UsageError("these results were judged before: evaluate again with --force")
        judged = (*self.judged, digest)
        if not problems:
            return evolve(self, judged=judged, passed=True, failures=0).noted("gate passed")
        text = "; ".join(problems)
        failed = evolve(self, judged=judged, passed=False, failures=self.failures + 1)
        failed = failed.noted("gate failed", text)
        if failed.failures < FAILURES_IN_A_ROW:
            return failed
        return failed.withdrawn(f"the gate failed {FAILURES_IN_A_ROW} times in a row")

    def promoted(self, reason: str) -> Self:
        """Return the state of the next stage; raises UsageError before the gate was passed."""
        self._require_underway()
        if not self.passed:
            raise UsageError(
                f"the gate was not passed at {self.share} %: run `nanocoder rollout gate` first"
            )
        if self.stage + 1 < len(self.stages):
            following = evolve(self, stage=self.stage + 1, passed=False, failures=0)
            return following.noted(f"promoted to {following.share} %", reason)
        return evolve(self, state="done").noted("done", reason)

    def withdrawn(self, reason: str) -> Self:
        """Return the state with the stable set for all users, even after a finished rollout."""
        if self.state == "withdrawn":
            raise UsageError(f"{self.candidate!r} is withdrawn already")
        return evolve(self, state="withdrawn", passed=False).noted("withdrawn", reason)

    def noted(self, event: str, reason: str = "") -> Self:
        """Return the state with one more line of history."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        note = {"at": at, "event": event, "share": f"{self.share} %", "reason": reason}
        return evolve(self, history=(*self.history, note))

    def _require_underway(self) -> None:
        if self.state != "underway":
            raise UsageError(f"the rollout of {self.candidate!r} is {self.state}: start another")

    def document(self) -> bytes:
        """Return the state as the text of its file."""
        return (json.dumps(asdict(self), indent=2) + "\n").encode()


def new_rollout(candidate: str, stable: str, stages: str) -> Rollout:
    """Return a rollout at its first stage; raises UsageError."""
    for name in (candidate, stable):
        if not NAME.fullmatch(name):
            raise UsageError(f"a set has a name without blanks, not {name!r:.80}")
    if candidate == stable:
        raise UsageError(f"{candidate!r} cannot replace itself: name two sets")
    numbers = _stages(stages)
    return Rollout(candidate, stable, numbers).noted("started", f"instead of {stable}")


def _stages(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    is_rising = list(numbers) == sorted(set(numbers))
    if not numbers or not is_rising or numbers[0] < 1 or numbers[-1] != ALL:
        raise UsageError(f"--stages: percentages that rise to 100, as in 5,25,100; not {text!r}")
    return numbers


def read_rollout(path: Path) -> Rollout | None:
    """Return the rollout of a file, None without one; raises UsageError for another content."""
    try:
        return _rollout(json.loads(read_regular(path)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        problem = f"there is no {error}" if isinstance(error, KeyError) else error
        raise UsageError(f"{path} is not the state of a rollout: {problem}") from error


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file, which a link may lead to; raises OSError."""
    with os.fdopen(open_private(path, follow_link=True), "rb") as file:
        return file.read()


def _rollout(values: Any) -> Rollout:
    if not isinstance(values, dict):
        raise TypeError("it is not a JSON object")
    _check_types(values)
    sequences = {name: tuple(values[name]) for name in ("stages", "judged", "history")}
    rollout = Rollout(**{**values, **sequences})
    if rollout.state not in {"underway", "done", "withdrawn"} or rollout.stage < 0:
        raise ValueError(f"there is no state {rollout.state!r}")
    if not (NAME.fullmatch(rollout.candidate) and NAME.fullmatch(rollout.stable)):
        raise ValueError("it names no set")
    _ = _stages(",".join(map(str, rollout.stages)))[rollout.stage]
    return rollout


def _check_types(values: Mapping[str, Any]) -> None:
    for name, kind in {**TYPES, "passed": bool}.items():
        if type(values[name]) is not kind:  # True would pass for a number
            raise TypeError(f"{name} is of the wrong type")
    for name, kind in ITEMS.items():
        if not isinstance(values[name], list) or {*map(type, values[name])} - {kind}:
            raise TypeError(f"{name} is of the wrong type")
    if not all(isinstance(note.get(name), str) for note in values["history"] for name in NOTE):
        raise TypeError(f"a note of the history has the texts {', '.join(NOTE)}")
