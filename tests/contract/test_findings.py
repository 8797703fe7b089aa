"""The findings of the outside review and the tests that hold them."""

import findings
import pytest


def test_every_finding_that_a_test_names_is_in_the_list():
    known = {row for rows in findings.findings().values() for row in rows}
    assert {row: places for row, places in findings.tests().items() if row not in known} == {}
    assert set(findings.reasons()) <= known


def test_every_finding_has_a_test_that_holds_it_or_a_reason_for_having_none():
    assert findings.unheld() == []


@pytest.mark.parametrize("section", findings.sections(), ids=lambda one: one.page.stem)
def test_the_tables_name_the_tests_that_there_are(section):
    text = section.page.read_text(encoding="utf-8")
    assert text == section.placed(), "write it with `nox -s reference`"
