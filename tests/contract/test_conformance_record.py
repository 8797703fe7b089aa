"""The run of the providers' tests is recorded for each release."""

import re

import conformance
import pytest

RECORD = conformance.PAGE.read_text(encoding="utf-8")


@pytest.mark.contract("NT-65")
def test_the_record_is_of_this_version_and_of_the_libraries_that_are_pinned():
    assert f"Version {conformance.version()} of nanocoder" in RECORD
    for folder in {file.parents[1] for file in conformance.test_files()}:
        (row,) = re.findall(rf"^\| {folder.name} \|.*$", RECORD, re.MULTILINE)
        assert row.endswith(f"| {conformance.library(folder)} |"), "run nox -s conformance"


@pytest.mark.contract("NT-65")
def test_every_provider_in_the_record_passed():
    counts = re.findall(r"(\d+) of (\d+)", RECORD)
    assert len(counts) >= len(conformance.test_files())
    assert all(passed == number != "0" for passed, number in counts)
