"""`plugins check` ends with the reason of a failure, though the suite itself passed."""

import os
import subprocess
import sys

import pytest
from nanocoder_command_author.check import done_at_import, undeclared
from nanocoder_kit_process.capabilities import packages_in

# One more package belongs to an installed plugin; the rest of the check is the real one.
PROGRAM = """
import sys
from argparse import Namespace
from pathlib import Path
from nanocoder import Host
from nanocoder_command_author import check
from nanocoder_kit_process.capabilities import Package
acme = Package("acme-run", "1", ("command-author",), (Path("acme_run"),), ())
check.packages_in = lambda: [acme]
sys.exit(check.run(Namespace(name="command-author"), Host(".")))
"""


@pytest.mark.timeout(120)
def test_the_last_line_says_that_the_check_failed_and_why(tmp_path):
    folder = tmp_path / "acme_run"
    folder.mkdir()
    (folder / "__init__.py").write_text("import subprocess\nimport socket\n")
    (folder / "nanocoder-plugin.toml").write_text("api = 1\ncapabilities = []\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert " passed in " in done.stdout
    assert done.stdout.splitlines()[-1] == (
        "nanocoder: the check failed: acme-run: acme_run/__init__.py:1 uses the module subprocess"
        " (exec), and nanocoder-plugin.toml does not declare it, and 1 more like it"
    )


def _own_packages():
    return [each for each in packages_in() if each.distribution.startswith("nanocoder-")]


@pytest.mark.timeout(120)
@pytest.mark.rows(12)
@pytest.mark.parametrize("package", _own_packages(), ids=lambda package: package.distribution)
def test_our_own_packages_pass_what_the_check_asks_of_others(package):
    assert undeclared(package) == []
    assert done_at_import(package).undeclared == []
