"""The README's first command, with the built wheels instead of a clone."""

import runpy

import pytest

PROMPT = "Create a file called greet.py with a greet(name) function"


@pytest.mark.timeout(1200)
def test_the_model_that_we_bring_makes_the_file_that_the_readme_asks_for(make_installed, tmp_path):
    installed = make_installed("nanocoder-set-default[local]")
    done = installed.nanocoder("run", "--mode", "edits", "--cwd", str(tmp_path), PROMPT)
    assert done.returncode == 0, done.stderr
    assert callable(runpy.run_path(str(tmp_path / "greet.py"))["greet"])
