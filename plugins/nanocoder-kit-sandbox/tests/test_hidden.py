"""Which environments and sockets a sandbox shows and hides."""

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from nanocoder import SessionInfo
from nanocoder_kit_sandbox import listening_sockets, readable_in_empty_places
from nanocoder_kit_sandbox.sandbox_files import SandboxFiles
from sandboxed_place import below_tmp  # noqa: F401


@pytest.mark.parametrize(
    ("besides", "is_shown"),
    [("", True), ("env/src/ws", False), ("env", False), (".", False), ("env2", True)],
)
def test_only_an_environment_apart_from_the_workspace_and_secrets_is_shown(
    below_tmp,  # noqa: F811
    besides,
    is_shown,
    monkeypatch,
):
    environment = below_tmp / "env"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    monkeypatch.setenv("PATH", f"bin:{environment}/bin/:/nowhere/bin:")
    apart = [os.path.normpath(below_tmp / besides)] if besides else []
    assert readable_in_empty_places(apart) == ([str(environment)] if is_shown else [])


def test_a_folder_of_programs_in_tmp_is_shown_and_not_what_is_beside_it(below_tmp, monkeypatch):  # noqa: F811
    programs = below_tmp / "plain/bin"
    programs.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/tmp:{below_tmp}/missing/bin")
    assert readable_in_empty_places(()) == [str(programs)]
    assert readable_in_empty_places([f"{programs}/key"]) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to others")
def test_a_stranger_shows_nothing_of_tmp_by_making_it_an_environment(below_tmp, monkeypatch):  # noqa: F811
    for name in ("theirs", "shared"):
        (below_tmp / name / "bin").mkdir(parents=True)
        (below_tmp / name / "pyvenv.cfg").touch()
    os.chown(below_tmp / "theirs", 65_534, 65_534)
    os.chown(below_tmp / "shared/pyvenv.cfg", 65_534, 65_534)
    path = f"{below_tmp}/theirs/bin:{below_tmp}/shared/bin:/tmp/bin"
    monkeypatch.setenv("PATH", path)
    assert readable_in_empty_places(()) == []


@pytest.mark.contract("E3")
def test_sockets_are_hidden_where_they_are_shown(below_tmp):  # noqa: F811
    name = f"{below_tmp}/agent.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        assert name not in listening_sockets()  # a sandbox has a /tmp of its own
        assert name in listening_sockets(visible=[str(below_tmp)])
        assert name not in listening_sockets([str(below_tmp)], visible=[str(below_tmp)])


def test_commands_that_start_at_once_hide_a_file_by_one_mask(tmp_path):
    files = SandboxFiles(SessionInfo("s", tmp_path), list)
    secrets = [tmp_path / f"secret-{number}" for number in range(100)]
    for number, secret in enumerate(secrets):
        secret.write_bytes(bytes(number))
    barrier = threading.Barrier(4)

    def masks():
        barrier.wait()
        return [(mask, mask.stat().st_mtime_ns) for mask in map(files.mask, map(str, secrets))]

    with ThreadPoolExecutor(4) as pool:
        first, *others = [task.result() for task in [pool.submit(masks) for _ in range(4)]]
    files.close()
    assert [first] * 3 == others
    assert [written for _, written in first] == [each.stat().st_mtime_ns for each in secrets]
