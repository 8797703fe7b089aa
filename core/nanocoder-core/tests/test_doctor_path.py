"""What doctor says of a PYTHONPATH by which a folder's files run before nanocoder does."""

import pytest

pytestmark = [pytest.mark.timeout(60), pytest.mark.finding("H16"), pytest.mark.finding("N8")]


@pytest.mark.parametrize("path", [".", "lib", ":", "{home}:", "{work}", "{work}/lib:{home}"])
def test_a_search_path_that_leads_into_the_workspace_is_named(nanocoder, path):
    path = path.format(home=nanocoder.home, work=nanocoder.cwd)
    done = nanocoder("doctor", env={"PYTHONPATH": path})
    assert "PYTHONPATH" in done.stdout
    assert "before Python's own modules" in " ".join(done.stdout.split())
    assert done.returncode == 1


def test_a_search_path_outside_the_workspace_is_fine(nanocoder):
    done = nanocoder("doctor", env={"PYTHONPATH": str(nanocoder.home)})
    assert "PYTHONPATH" not in done.stdout
