"""How long the index of many sessions takes: `uv run python tests/bench/session_search.py 5000`.

Prints the size of the journals and of the index, and the processor time of the first search, of
one that finds everything up to date, and of one for a part of a word.
"""

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from nanocoder import Message, ToolCall, encode_message
from nanocoder_kit_sessions import RecordJournal, SessionStore, index_path
from nanocoder_kit_sessions.search_index import open_index

PROMPTS, CALLS = 5, 3
"""A session has so many prompts, and so many calls for each."""
PROMPT_WORDS, ANSWER_WORDS, RESULT_WORDS = 30, 120, 300
VOCABULARY = 20_000
MEGABYTE = 1_000_000


def main(count: int) -> None:
    """Write *count* sessions and measure."""
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder))
        choice = random.Random(1)
        words = ["".join(choice.choices("abcdefghij", k=7)) for _ in range(VOCABULARY)]
        for number in range(count):
            _, journal = store.create(Path(folder), "bench/model", "ask")
            write(journal, f"needle{number}", words, choice)
            journal.close()
        size = sum(path.stat().st_size for path in store.folder.glob("*.jsonl"))
        print(f"{count:,} sessions, {size / MEGABYTE:.0f} MB of journals")
        for name, text in (("first", "needle7"), ("next", "needle8"), ("part", "eedle9")):
            print(f"{name} search: {search(store, text):.2f} s of processor time")
        print(f"index: {index_path(store).stat().st_size / MEGABYTE:.0f} MB")


def write(journal: RecordJournal, mark: str, words: Sequence[str], choice: random.Random) -> None:
    """Write a session that has *mark* in each prompt."""

    def text(count: int) -> str:
        return " ".join(choice.choices(words, k=count))

    for _ in range(PROMPTS):
        prompt = f"{text(PROMPT_WORDS)} {mark}"
        journal.append("run.started", {"prompt": prompt})
        journal.append("message", encode_message(Message("user", prompt)))
        for call in range(CALLS):
            calls = (ToolCall(str(call), "read_file", {"path": text(1)}),)
            journal.append("message", encode_message(Message("assistant", calls=calls)))
            result = {"output": text(RESULT_WORDS), "call_id": str(call)}
            journal.append("call.finished", {"result": result})
        journal.append("message", encode_message(Message("assistant", text(ANSWER_WORDS))))


def search(store: SessionStore, text: str) -> float:
    """Return how long one search takes, in seconds."""
    before = time.process_time()
    with open_index(store) as index:
        assert index.search([text], lambda _session: True, 20)
    return time.process_time() - before


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
