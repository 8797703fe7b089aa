"""CI runs the two commands of the README; nothing tracked names a host of packages."""

import re
import subprocess
import sys
import tomllib

import pytest
import repository
import summary

UV = "python3 -m venv .uv && .uv/bin/pip install -q uv && .uv/bin/uv run"
FIRST = (
    f'{UV} --no-dev --extra local nanocoder run --model local --mode edits --cwd "$(mktemp -d)"'
    ' "Create a file called greet.py with a greet(name) function"'
)
SECOND = f"{UV} nox"
HOSTS = re.compile(
    r"\b(?:files\.python" + r"hosted|py" + r"pi|registry\.npm" + r"js|deb\.deb" + r"ian)\.org"
)
PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)


@pytest.mark.parametrize("command", [FIRST, SECOND])
def test_ci_runs_the_readmes_commands_to_the_letter(command):
    readme = (repository.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    script = (repository.ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert f"$ {command}" in readme
    assert command in script


def test_the_ci_scripts_stop_at_the_first_failure_and_are_bash():
    for script in (repository.ROOT / ".ci/run", repository.ROOT / ".ci/bare"):
        assert script.stat().st_mode & 0o111
        assert "\nset -eu\n" in script.read_text(encoding="utf-8")
        subprocess.run(["bash", "-n", str(script)], check=True)


def test_no_tracked_file_names_a_host_of_packages():
    named = [
        repository.shown(path)
        for path in repository.tracked()
        if HOSTS.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert named == []


def report(file, *numbers):
    words = ("tests", "failures", "errors", "skipped")
    counts = " ".join(f'{word}="{n}"' for word, n in zip(words, numbers, strict=True))
    text = f"<testsuites><testsuite {counts}/></testsuites>"
    file.write_text(text, encoding="utf-8")


def test_the_closing_line_counts_every_report(tmp_path):
    report(tmp_path / "a.xml", 5, 1, 1, 1)
    report(tmp_path / "b.xml", 2, 0, 0, 0)
    assert summary.summary(tmp_path) == "4 passed, 2 failed, 1 skipped"


def test_a_contributor_works_with_the_default_set_and_no_example():
    command = ["uv", "export", "--frozen", "--no-hashes", "--no-header", "--no-annotate"]
    installed = subprocess.run(
        command, cwd=repository.ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert "./plugins/nanocoder-set-default" in installed
    assert "contrib/" not in installed
    where = "import noxfile, os; print(os.environ['UV_PROJECT_ENVIRONMENT'])"
    command = [sys.executable, "-c", where]
    sessions = subprocess.run(
        command, cwd=repository.ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert sessions != str(repository.ROOT / ".venv")


def pins():
    with (repository.ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["uv"]
    return dict(match for pin in settings["constraint-dependencies"] for match in PIN.findall(pin))


def test_the_lock_names_tested_versions_with_hashes_and_no_address():
    text = (repository.ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = dict(PIN.findall(text))
    assert locked
    assert set(locked.items()) <= set(pins().items())
    assert text.count("\n    --hash=sha256:") >= len(locked)
    assert "://" not in text
    assert " @ " not in text


def test_everything_that_a_package_needs_is_pinned_to_a_tested_version():
    ours = {package.name for package in repository.packages()}
    needed = {name for package in repository.packages() for name in requirements(package)}
    assert sorted(needed - ours - set(pins())) == [], "pin it with `nox -s lock`"


def requirements(package):
    project = package.project["project"]
    extras = project.get("optional-dependencies", {}).values()
    items = [*project.get("dependencies", ()), *(item for extra in extras for item in extra)]
    return {re.split(r"[^\w.-]", item)[0].lower().replace("_", "-") for item in items}
