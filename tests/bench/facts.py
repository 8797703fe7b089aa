"""Tell a model twelve facts, compact the conversation four times, and count what it still knows.

    python tests/bench/facts.py [--model P/M] [--json FILE]

Between the facts the agent works on a small project, so that there is something to leave out. A
compaction is asked for by hand after each quarter. A question counts as answered when its answer
has the word that the fact is about. Nothing here asserts a figure: one run at temperature 0, where
a difference of one fact is noise.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from nanocoder import Event, Session, open_session

PARTS = 4
TASK = "Then say in one word which function comes first in {}."
FILLER = "def step_{0}(value):\n    return value + {0}\n\n\n"


@frozen
class Fact:
    """Something to be remembered, a question about it, and the word that a right answer has."""

    said: str
    question: str
    word: str


FACTS = (
    Fact("The staging server listens on port 8432.", "Which port is staging on?", "8432"),
    Fact("Never touch the folder legacy_billing.", "Which folder is off limits?", "legacy_billing"),
    Fact("The next release is called Kestrel.", "What is the next release called?", "kestrel"),
    Fact("The customer is Acme Bakery.", "Who is the customer?", "acme"),
    Fact("We use sqlite, not postgres.", "Which database do we use?", "sqlite"),
    Fact("The cache lives for 90 seconds.", "How long does the cache live?", "90"),
    Fact("Dates are written in UTC.", "In which time zone are dates written?", "utc"),
    Fact("The reviewer is called Miriam.", "Who reviews the work?", "miriam"),
    Fact("Tests run with the command make verify.", "How are tests run?", "make verify"),
    Fact("The deadline is the 14th of May.", "When is the deadline?", "14"),
    Fact("The log level in production is warning.", "Which log level is used?", "warning"),
    Fact("The main branch is called trunk.", "What is the main branch called?", "trunk"),
)


@frozen
class Answer:
    """What the model said to one question."""

    question: str
    text: str
    is_right: bool


@frozen
class Measured:
    """One run: the answers, the compactions that happened, and the time they took together."""

    model: str
    answers: Sequence[Answer]
    compactions: Sequence[str]
    compacting_s: float

    @property
    def known(self) -> int:
        """How many facts the model still knew."""
        return sum(answer.is_right for answer in self.answers)


def measure(session: Session, folder: Path) -> Measured:
    """Tell, compact and ask in *session*, which works in *folder*."""
    compactions, compacting_s = list[str](), 0.0
    for number in range(PARTS):
        _work(session, folder, number)
        start = time.monotonic()
        compactions += _messages(session.compact())
        compacting_s += time.monotonic() - start
    answers = [_asked(session, fact) for fact in FACTS]
    return Measured(session.info.model, answers, compactions, compacting_s)


def _work(session: Session, folder: Path, number: int) -> None:
    """Tell a quarter of the facts, with a file to read between them."""
    share = len(FACTS) // PARTS
    for place, fact in enumerate(FACTS[number * share : (number + 1) * share]):
        name = f"step_{number}_{place}.py"
        (folder / name).write_text("".join(FILLER.format(n) for n in range(12)), encoding="utf-8")
        list(session.run(f"Remember this: {fact.said} {TASK.format(name)}"))


def _asked(session: Session, fact: Fact) -> Answer:
    question = f"{fact.question} Answer from this conversation, in one sentence."
    list(session.run(question))
    text = session.report.text
    return Answer(fact.question, text, fact.word in text.lower())


def _messages(events: Iterator[Event]) -> list[str]:
    return [each.data["message"] for each in events if each.kind == "transcript.compacted"]


def rows(measured: Measured) -> Iterator[str]:
    """Yield the lines that tell what was measured."""
    yield from measured.compactions
    for answer in measured.answers:
        yield f"{'known ' if answer.is_right else 'lost  '} {answer.question} {answer.text[:80]!r}"
    count = f"{measured.known} of {len(measured.answers)} facts"
    yield f"{count} after {len(measured.compactions)} compactions ({measured.compacting_s:.0f} s)"


def main(words: Sequence[str]) -> int:
    """Measure as *words* say, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--model", default="local")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(words)
    with (
        tempfile.TemporaryDirectory() as name,
        open_session(name, model=chosen.model, mode="auto") as session,
    ):
        measured = measure(session, Path(name))
    print("\n".join(rows(measured)))
    if chosen.json is not None:
        data: dict[str, Any] = {**asdict(measured), "known": measured.known}
        chosen.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
