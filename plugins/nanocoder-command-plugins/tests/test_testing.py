"""`nanocoder plugins test`: the tests of a plugin's folder, with the Python of nanocoder."""

import sys

import pytest

TEST = """
import os, sys

def test_the_python_is_that_of_nanocoder():
    import nanocoder
    assert sys.executable == {python!r}

def test_no_key_is_there():
    assert "OPENAI_API_KEY" not in os.environ and "CI" not in os.environ
"""


@pytest.mark.timeout(120)
def test_a_new_package_is_tested_where_no_other_python_has_nanocoder(nanocoder) -> None:
    assert nanocoder("plugins", "new", "tool", "count").returncode == 0
    done = nanocoder("plugins", "test", "nanocoder-tool-count", env={"PATH": "/nowhere"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_file_of_tests_is_enough_and_gets_no_key(nanocoder) -> None:
    file = nanocoder.cwd / "test_here.py"
    file.write_text(TEST.format(python=sys.executable))
    done = nanocoder("plugins", "test", "test_here.py", env={"OPENAI_API_KEY": "sk-1", "CI": "1"})
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_failure_is_the_exit_code(nanocoder) -> None:
    (nanocoder.cwd / "test_here.py").write_text("def test_it():\n    assert 1 == 2\n")
    assert nanocoder("plugins", "test").returncode == 1


def test_a_place_that_is_not_there_is_named(nanocoder) -> None:
    done = nanocoder("plugins", "test", "gone")
    assert done.returncode == 2
    assert "there is no folder or file of tests 'gone'" in done.stderr
