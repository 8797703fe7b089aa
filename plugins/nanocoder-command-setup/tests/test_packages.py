"""Installing and removing packages."""

import pytest

pytestmark = pytest.mark.timeout(60)


def test_an_installation_that_fails_says_what_to_do_without_an_index(nanocoder):
    nowhere = {"UV_NO_INDEX": "1", "PIP_NO_INDEX": "1"}
    done = nanocoder("plugins", "install", "tool-nowhere", env=nowhere)
    assert done.returncode == 1
    assert "nanocoder-tool-nowhere could not be installed: " in done.stderr
    assert "nanocoder plugins install ./PATH" in done.stderr
    assert "_FIND_LINKS to a folder of wheels" in done.stderr


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
