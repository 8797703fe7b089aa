"""Installing and removing packages."""

import pytest

pytestmark = pytest.mark.timeout(60)
NO_INDEX = {"UV_NO_INDEX": "1", "PIP_NO_INDEX": "1"}


def test_an_installation_that_fails_says_what_to_do_without_an_index(nanocoder):
    done = nanocoder("plugins", "install", "tool-nowhere", env=NO_INDEX)
    assert done.returncode == 1
    assert "nanocoder-tool-nowhere could not be installed: " in done.stderr
    assert "nanocoder plugins install ./PATH" in done.stderr
    assert "_FIND_LINKS to a folder of wheels" in done.stderr


def test_a_folder_that_is_called_like_a_package_is_not_taken_for_it(nanocoder):
    folder = nanocoder.cwd / "nanocoder-tool-nowhere"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "nanocoder-tool-nowhere"\n')
    done = nanocoder("plugins", "install", "tool-nowhere", "--yes", env=NO_INDEX)
    assert done.returncode == 1
    assert "nanocoder-tool-nowhere could not be installed: " in done.stderr
    assert not (folder / "build").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tool-gerp", "no plugin 'tool-gerp' is installed; did you mean 'tool-grep'?"),
        ("xyz", "no plugin 'xyz' is installed; `nanocoder plugins list`"),
    ],
)
def test_what_is_not_installed_cannot_be_removed(nanocoder, name, said):
    done = nanocoder("plugins", "remove", name)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Nothing was removed" in done.stderr
