"""The findings of the outside review and the tests that hold them."""

import findings


def test_every_finding_that_a_test_names_is_in_the_list():
    known = {row for rows in findings.findings().values() for row in rows}
    assert {row: places for row, places in findings.tests().items() if row not in known} == {}
    assert set(findings.reasons()) <= known


def test_every_finding_has_a_test_that_holds_it_or_a_reason_for_having_none():
    assert findings.unheld() == []


def test_the_tables_name_the_tests_that_there_are():
    # Not as parameters: each worker would parse all tests just to collect these.
    for section in findings.sections():
        text = section.page.read_text(encoding="utf-8")
        assert text == section.placed(), "write it with `nox -s reference`"
