"""The page on the layout leads a newcomer to the package for a task, in two pages."""

import re

import house

TASKS = 10
WORDS = 1_000
ROW = re.compile(
    r"^\| (?P<task>[^|]{10,}) \| \[(?P<name>[^\]]+)\]\((?P<path>[^)]+)\) \|$", re.MULTILINE
)


def test_ten_tasks_lead_to_ten_places_with_code_in_the_package_that_is_named():
    rows = list(ROW.finditer(house.PAGE.read_text(encoding="utf-8")))
    assert len(rows) == len({row["path"] for row in rows}) == TASKS
    for row in rows:
        place = (house.PAGE.parent / row["path"]).resolve()
        assert place.suffix == ".py" or list(place.glob("*.py")), row["task"]
        assert row["name"].split(",")[0] in place.parts, row["task"]


def test_the_page_on_the_layout_has_two_pages_at_most():
    assert len(house.PAGE.read_text(encoding="utf-8").split()) <= WORDS
