"""A new plugin as its author meets it: made, built, installed, tested; nothing of the checkout."""

import json
import subprocess

import pytest

pytestmark = pytest.mark.timeout(600)
KINDS = ("tool", "policy", "provider", "ui")


@pytest.fixture(scope="module")
def installed(make_installed):
    return make_installed("nanocoder-command-plugins[check]")


@pytest.mark.rows(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_is_built_installed_tested_and_checked(installed, tmp_path, kind):
    made = installed.nanocoder("plugins", "new", kind, "word-count", "--into", str(tmp_path))
    assert made.returncode == 0, made.stderr
    folder = tmp_path / f"nanocoder-{kind}-word-count"
    build = ["uv", "build", "--no-config", "--quiet", "--wheel", str(folder)]
    subprocess.run(build, check=True, cwd=tmp_path)
    (wheel,) = (folder / "dist").glob("*.whl")
    installed.install(str(wheel))

    done = in_pytest(installed, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    checked = installed.nanocoder("plugins", "check", f"{kind}-word-count")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert " passed" in checked.stdout
    listed = json.loads(installed.nanocoder("plugins", "list", "--output", "json").stdout)
    assert f"{kind}-word-count" in [one["name"] for one in listed if not one["set_aside"]]


def in_pytest(installed, folder):
    """Run the package's tests against what is installed, not against its sources."""
    return subprocess.run(
        [str(installed.python), "-m", "pytest", "-q", "-W", "error", "--basetemp=tmp", "tests"],
        cwd=folder,
        env=installed.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
