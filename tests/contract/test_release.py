"""A release is complete: its versions, its notes, and the sessions that its workflow runs."""

import re
import subprocess
import sys
import tomllib

import pytest
import repository
from packaging.requirements import Requirement
from packaging.version import Version

FRAGMENTS = repository.ROOT / "docs/changelog"
WORKFLOW = repository.ROOT / ".github/workflows/release.yml"


def settings():
    return tomllib.loads((repository.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def versions():
    return {package.name: package.project["project"]["version"] for package in PACKAGES}


PACKAGES = repository.packages()


def requirements_of_ours(package):
    """Yield each requirement of a package that another package of this repository meets."""
    project = package.project["project"]
    extras = project.get("optional-dependencies", {}).values()
    lines = [*project.get("dependencies", ()), *(line for extra in extras for line in extra)]
    ours = {one.name for one in PACKAGES}
    yield from (each for each in map(Requirement, lines) if each.name in ours)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_requirement_of_ours_takes_the_present_version_and_stops_before_the_next_minor(package):
    for requirement in requirements_of_ours(package):
        present = Version(versions()[requirement.name])
        assert requirement.specifier.contains(present), requirement
        following = f"{present.major}.{present.minor + 1}.0"
        assert not requirement.specifier.contains(following), requirement


def test_a_changelog_has_the_version_of_the_workspace():
    notes = (repository.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(settings()['project']['version'])}\b", notes, re.MULTILINE)


def test_a_fragment_of_the_changelog_has_a_known_type_and_one_or_two_sentences():
    types = {each["directory"] for each in settings()["tool"]["towncrier"]["type"]}
    for path in sorted(FRAGMENTS.glob("[!R]*")):
        assert re.fullmatch(rf"[+\w-]+\.({'|'.join(types)})\.md", path.name), path.name
        assert len(path.read_text(encoding="utf-8").split()) <= 60, f"{path.name}: say it shorter"


@pytest.mark.contract("NT-76")
def test_release_notes_have_a_part_for_operators(tmp_path):
    folder = tmp_path / "docs/changelog"
    folder.mkdir(parents=True)
    for name in ("pyproject.toml", "CHANGELOG.md"):
        (tmp_path / name).write_bytes((repository.ROOT / name).read_bytes())
    (folder / "+quiet.operations.md").write_text("Watch the sessions.\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "1.0"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "### Operations\n\n- Watch the sessions." in done.stdout


def test_the_workflow_of_a_release_runs_sessions_that_exist_and_publishes_after_the_tests():
    text = WORKFLOW.read_text(encoding="utf-8")
    sessions = re.findall(
        r"^def (\w+)\(", (repository.ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    named = " ".join(re.findall(r"nox -s ([\w ]+)$", text, re.MULTILINE)).split()
    assert set(named) <= set(sessions)
    assert "release" in named
    jobs = dict(
        re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("\njobs:")[2], re.MULTILINE)
    )
    needed = re.findall(r"\w+", re.search(r"needs: (.*)", jobs["publish"])[1])
    assert set(needed) == jobs.keys() - {"publish"}
    assert [name for name, job in jobs.items() if "id-token: write" in job] == ["publish"]
