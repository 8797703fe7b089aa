"""A missing tool skips a test on a contributor's machine and fails it in CI."""

import os
import subprocess
import sys

import pytest
import repository

SKIPPING = {
    "in_a_test": "import pytest\ndef test_a():\n    pytest.skip('no tool')\n",
    "by_a_mark": "import pytest\n@pytest.mark.skip(reason='no tool')\ndef test_a(): ...\n",
    "of_a_module": "import pytest\npytest.skip('no tool', allow_module_level=True)\n",
}


def run(path, ci):
    plugin = ["-p", "conftest", "-p", "no:cacheprovider", "--rootdir", str(path.parent)]
    folders = (repository.ROOT / name for name in (".", "tests/contract", "tests/shared"))
    environment = os.environ | {"CI": ci, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, *plugin, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pytest\npytestmark = pytest.mark.needs('sh')\ndef test_a(): ...\n", 0),
        ("import pytest\npytestmark = getattr(pytest.mark, 'needs')('sh')\ndef test_a(): ...\n", 1),
    ],
    ids=["written", "hidden"],
)
def test_a_mark_that_the_session_programs_does_not_find_fails(tmp_path, text, expected):
    path = tmp_path / "test_it.py"
    path.write_text(text, encoding="utf-8")
    code, output = run(path, ci="")
    assert code == expected, output
    assert ("the session programs looks for it" in output) == bool(expected)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", SKIPPING.values(), ids=SKIPPING)
def test_a_skip_for_a_reason_that_is_not_listed_fails_in_ci_only(tmp_path, text):
    path = tmp_path / "test_it.py"
    path.write_text(text, encoding="utf-8")
    code, output = run(path, ci="true")
    assert code in {1, 2}
    assert "skipped where nothing may be: Skipped: no tool" in output
    code, output = run(path, ci="")
    assert code in {0, 5}
    assert "1 skipped" in output
