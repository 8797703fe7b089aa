"""The page of decisions answers what a designer of tools is asked, with what the code does."""

import pytest
import repository

PAGE = repository.ROOT / "docs/explanation/decisions.md"
ANSWERS = {
    "How is the design extensible?": "entry point",
    "What is the source of truth for arguments?": "signature",
    "Where does the schema come from?": "generates",
    "What does the registry do?": "by name",
}


@pytest.mark.contract("NA-56")
@pytest.mark.parametrize(("question", "answer"), ANSWERS.items())
def test_each_of_the_four_questions_has_an_answer_of_its_own(question, answer):
    paragraphs = PAGE.read_text(encoding="utf-8").split("\n\n")
    [found] = [text for text in paragraphs if text.startswith(f"**{question}**")]
    said = " ".join(found.removeprefix(f"**{question}**").split())
    assert answer in said
    assert len(said.split()) > 30
