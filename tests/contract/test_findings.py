"""The findings of the outside review and the tests that hold them."""

import findings


def test_every_finding_that_a_test_names_is_in_the_list():
    known = {row for rows in findings.findings().values() for row in rows}
    assert {row: places for row, places in findings.tests().items() if row not in known} == {}
    assert set(findings.reasons()) <= known
