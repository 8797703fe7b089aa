"""What operators rely on: the assumptions have tests, alerts have runbooks, notes tell lessons."""

import re
import subprocess
import sys

import pytest
import repository

DOCS = repository.ROOT / "docs"
PARTS = ("- **Means**: ", "- **Look**: ", "- **Do**: ")


def table(page, head):
    """Return the cells of the table on *page* below the row that begins with *head*."""
    text = page.read_text(encoding="utf-8")
    rows = text[text.index(f"| {head} |") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


@pytest.mark.contract("NT-77")
def test_each_assumption_names_a_test_that_is_there():
    rows = table(DOCS / "explanation/assumptions.md", "assumption")
    assert len(rows) > 8
    for _, test in rows:
        name, place = re.fullmatch(r"\[`(test_\w+)`\]\(\.\./\.\./(.+)\)", test).groups()
        source = (repository.ROOT / place).read_text(encoding="utf-8")
        assert f"\ndef {name}(" in source, test


@pytest.mark.contract("NT-61")
@pytest.mark.contract("NT-81")
def test_each_alert_has_a_threshold_and_a_runbook_with_all_its_parts():
    alerts = table(DOCS / "how-to/send-telemetry.md", "question")
    operating = (DOCS / "how-to/operate.md").read_text(encoding="utf-8")
    _, _, rest = operating.partition("## Runbooks\n")
    runbooks = rest.partition("\n## ")[0].split("\n### ")[1:]
    names = {re.sub(r"\W+", "-", book.partition("\n")[0].lower()): book for book in runbooks}
    for _, _, threshold, runbook in alerts:
        assert re.search(r"\d|twice", threshold), threshold
        book = names.pop(re.search(r"operate\.md#([\w-]+)\)", runbook)[1])
        assert all(part in book for part in PARTS), book
    assert not names, "a runbook that no alert leads to"


@pytest.mark.contract("NT-85")
def test_the_smallest_example_from_a_prompt_to_an_answer_runs():
    example = repository.ROOT / "contrib/examples/open_session.py"
    done = subprocess.run(
        [sys.executable, example], capture_output=True, text=True, check=True, timeout=60
    )
    asked, noted, answer, written = done.stdout.splitlines()
    assert asked.startswith("asked: note: ")
    assert (noted, answer, written) == ("note: noted", "I wrote it down.", "buy milk")
    page = (DOCS / "how-to/python-api.md").read_text(encoding="utf-8")
    assert "contrib/examples/open_session.py" in page


@pytest.mark.contract("NT-89")
def test_the_page_for_operators_has_a_canary_a_way_back_and_a_check_under_load():
    text = (DOCS / "how-to/operate.md").read_text(encoding="utf-8")
    for heading in ("## A canary", "## Roll back", "## After a release: a check under load"):
        assert heading in text
    criteria = table(DOCS / "how-to/operate.md", "criterion")
    assert len(criteria) > 3
    assert all("nanocoder" in command for _, command in criteria)


@pytest.mark.contract("NT-90")
def test_the_five_questions_of_a_review_have_answers():
    text = (DOCS / "explanation/assumptions.md").read_text(encoding="utf-8")
    form = re.compile(r"^\*\*([^*]+\?)\*\* (.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
    answers = dict(form.findall(text))
    assert len(answers) == 5
    assert {question for question, answer in answers.items() if len(answer.split()) < 20} == set()
    assert len({*answers.values()}) == 5


@pytest.mark.contract("NT-83")
@pytest.mark.parametrize("page", sorted((DOCS / "explanation").glob("*.md")), ids=lambda p: p.stem)
def test_each_explanation_leads_to_related_pages_and_to_its_sources(page):
    _, _, links = page.read_text(encoding="utf-8").rpartition("\n## See also\n")
    assert re.search(r"^- Related pages: .*\]\([\w./-]+\.md\)", links, re.MULTILINE)
    assert re.search(r"^- Sources: .*\]\(https://", links, re.MULTILINE)
