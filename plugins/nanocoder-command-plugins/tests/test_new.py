"""`nanocoder plugins new`: packages whose tests pass at once, or nothing."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from nanocoder import UsageError
from nanocoder_command_author.new import TEMPLATES, make_package, words_of
from nanocoder_kit_process.capabilities import read_manifest, scan

KINDS = sorted(path.name for path in TEMPLATES.iterdir())


def outcome_of_its_tests(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a package's tests in a pytest of their own; nothing is installed before."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    command.append(f"--basetemp={folder.parent / 'basetemp'}")
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.timeout(120)
@pytest.mark.contract("LC-04")
@pytest.mark.rows(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_tests_of_a_new_package_pass_at_once(tmp_path: Path, kind: str) -> None:
    folder = make_package(kind, "word-count", tmp_path)
    assert folder == tmp_path / f"nanocoder-{kind}-word-count"
    done = outcome_of_its_tests(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    assert "deselected" not in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_has_one_name_everywhere(tmp_path: Path, kind: str) -> None:
    folder = make_package(kind, "word-count", tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    module = f"nanocoder_{kind}_word_count"
    assert project["name"] == folder.name
    assert project["entry-points"]["nanocoder"] == {f"{kind}-word-count": module}
    assert (folder / "src" / module / "py.typed").is_file()
    left = [path for path in folder.rglob("*") if "template" in path.name or "$" in path.name]
    assert left == []


@pytest.mark.contract("NA-01")
def test_the_smallest_plugin_is_sixteen_lines_and_at_most_thirteen_of_toml(tmp_path: Path) -> None:
    folder = make_package("tool", "count", tmp_path)
    (source,) = folder.glob("src/*/__init__.py")
    assert len(source.read_text().splitlines()) == 16
    assert "short=" in source.read_text(), "small models are offered the tool"
    assert len((folder / "pyproject.toml").read_text().splitlines()) <= 13


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Word Count", "word-count"),
        ("wordCount", "word-count"),
        ("word_count", "word-count"),
        ("nanocoder-tool-count", "count"),
        ("2fast", "fast"),
        ("class", "my-class"),
        ("../evil", "evil"),
    ],
)
def test_a_bad_name_is_refused_with_the_nearest_good_one(
    tmp_path: Path, name: str, meant: str
) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        make_package("tool", name, tmp_path)
    assert list(tmp_path.iterdir()) == []
    make_package("tool", meant, tmp_path)


@pytest.mark.parametrize("name", ["", "---", "x" * 41, "\0", "\u00e9\u00e8"])
def test_a_name_that_cannot_be_mended_is_refused_with_the_rule(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters and digits"):
        make_package("tool", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / words_of("tool", "count")["distribution"]
    mine.mkdir()
    with pytest.raises(UsageError, match="already exists"):
        make_package("tool", "count", tmp_path)
    assert list(mine.iterdir()) == []


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no directory .*gone"):
        make_package("tool", "count", tmp_path / "gone")


def test_a_disk_that_refuses_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(UsageError, match="No space left"):
        make_package("tool", "count", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_to_do_next_is_three_commands_on_lines_of_their_own(nanocoder) -> None:
    printed = nanocoder("plugins", "new", "tool", "count", "--into", ".").stdout
    assert printed.splitlines() == [
        "nanocoder-tool-count is ready. Next:",
        "  nanocoder plugins install testing",
        "  nanocoder plugins test nanocoder-tool-count",
        "  nanocoder plugins install ./nanocoder-tool-count",
    ]


def test_a_folder_is_checked_by_its_tests_and_a_check_of_it_says_so(nanocoder) -> None:
    nanocoder("plugins", "new", "tool", "count")
    done = nanocoder("plugins", "check", "nanocoder-tool-count")
    assert done.returncode == 2
    assert "`nanocoder plugins test nanocoder-tool-count` checks it where it is" in done.stderr
    assert "`nanocoder plugins install ./nanocoder-tool-count` installs it" in done.stderr
    folder = nanocoder.cwd / "nanocoder-tool-count"
    done = nanocoder("plugins", "check", str(folder))
    assert f"`nanocoder plugins install {folder}` installs it" in done.stderr


@pytest.mark.timeout(120)
def test_a_check_leaves_nothing_where_it_is_run(nanocoder) -> None:
    done = nanocoder("plugins", "check", "tool-ask")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [*nanocoder.cwd.iterdir()] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_says_that_it_is_an_example_and_how_to_install_it(
    tmp_path: Path, kind: str
) -> None:
    folder = make_package(kind, "word-count", tmp_path)
    readme = (folder / "README.md").read_text()
    assert "As an example" in readme
    assert f"nanocoder plugins install ./{folder.name}" in readme


@pytest.mark.timeout(120)
@pytest.mark.contract("A36")
def test_a_tool_that_is_one_file_becomes_a_package(nanocoder) -> None:
    code = (TEMPLATES / "tool/src/MODULE/__init__.py.template").read_text()
    (nanocoder.cwd / "acme.py").write_text(code.replace("$identifier", "count_lines"))
    done = nanocoder("plugins", "new", "tool", "acme", "--from", "acme.py")
    assert done.returncode == 0, done.stderr
    folder = nanocoder.cwd / "nanocoder-tool-acme"
    module = folder / "src/nanocoder_tool_acme/__init__.py"
    assert module.read_bytes() == (nanocoder.cwd / "acme.py").read_bytes()
    assert "example" not in (folder / "README.md").read_text()
    declared = read_manifest(module.parent)
    assert declared is not None
    uses = [use.capability for use in scan(module.parent)]
    assert uses
    assert all(use in declared.capabilities for use in uses)
    tests = outcome_of_its_tests(folder)
    assert tests.returncode == 0, tests.stdout + tests.stderr


@pytest.mark.contract("N8")
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def count(path):\n    return 1\n", "has no hook"),
        ("def nanocoder_nothing():\n    return []\n", "has no hook"),
        ("from nanocoder import tool\n\n@tool\ndef count(ctx):\n    'Count.'\n", "nanocoder_tools"),
    ],
)
def test_a_file_of_which_nothing_would_be_used_is_refused(
    tmp_path: Path, code: str, problem: str
) -> None:
    (tmp_path / "plain.py").write_text(code)
    with pytest.raises(UsageError, match=problem):
        make_package("tool", "plain", tmp_path, str(tmp_path / "plain.py"))
    assert [each.name for each in tmp_path.iterdir()] == ["plain.py"]


def test_a_file_of_code_that_cannot_be_read_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'gone\.py' cannot be read: No such file"):
        make_package("tool", "count", tmp_path, "gone.py")
    (tmp_path / "bad.py").write_text("def (:\n")
    with pytest.raises(UsageError, match=r"bad\.py:1: invalid syntax"):
        make_package("tool", "count", tmp_path, str(tmp_path / "bad.py"))
    assert [each.name for each in tmp_path.iterdir()] == ["bad.py"]
