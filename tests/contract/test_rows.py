"""The contract's rows and the tests that claim to meet them."""

import repository
import rows


def test_every_row_that_a_test_names_is_a_row_of_the_contract():
    known = rows.rows()
    assert {row: places for row, places in rows.met().items() if row not in known} == {}


def test_the_rows_are_complete_and_unique():
    text = (repository.ROOT / "tests/contract/rows.txt").read_text(encoding="utf-8")
    ids = [line.split()[0] for line in text.splitlines()]
    assert [row for row in ids if not rows.ROW.fullmatch(row)] == []
    assert len(set(ids)) == len(ids)
    assert [line for line in text.splitlines() if len(line.partition(": ")[2].split()) < 2] == []


def test_the_report_counts_what_it_lists():
    missing, report = rows.unmet(), rows.report()
    assert report.endswith(f"\n{len(missing)} of {len(rows.rows())} rows have no test")
    assert all(row in report for row in missing)
