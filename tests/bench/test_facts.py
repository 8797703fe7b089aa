"""The facts are told, and an answer counts when it has the word that its fact is about."""

from pathlib import Path

import facts
from nanocoder_testing import opened


def test_an_answer_counts_by_the_word_of_its_fact(tmp_path: Path) -> None:
    answers = [fact.said for fact in facts.FACTS[:-1]]
    turns = [*["Noted."] * len(facts.FACTS), *answers, "I do not know."]
    with opened(tmp_path, turns) as (session, _):
        measured = facts.measure(session, tmp_path)
    assert measured.known == len(facts.FACTS) - 1
    assert [answer.is_right for answer in measured.answers][-2:] == [True, False]
    assert "11 of 12 facts after 0 compactions" in list(facts.rows(measured))[-1]
