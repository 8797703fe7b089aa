"""Protected names that programs in Landlock make."""

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandbox_arrivals import *  # noqa: F403
from sandbox_killed import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


# A link is kept as it is, so that nothing has to be moved away.


def test_a_folder_in_the_place_of_a_link_is_moved_away(repository):  # noqa: F811
    assert_link_stays(repository, "rm pk/.vscode; mkdir pk/.vscode")


def test_a_link_that_leads_elsewhere_now_is_moved_away(repository):  # noqa: F811
    assert_link_stays(repository, "ln -sfn ../evil pk/.vscode")


def assert_link_stays(repository, command):  # noqa: F811
    (repository.workspace / "pk").mkdir()
    link = repository.workspace / "pk/.vscode"
    link.symlink_to("../conf")
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert box.changes() == []
    assert link.readlink().as_posix() == "../conf"
