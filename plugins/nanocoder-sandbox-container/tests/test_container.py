"""What docker is asked to do. A program named docker writes its arguments down and runs nothing:

no daemon is needed to see that each command line is the one that keeps a program inside.
"""

import itertools
import json
import os
import subprocess
import time

import pytest
from nanocoder import Access, PathFilter, Readable, SessionInfo, ToolError
from nanocoder_kit_sandbox.sandbox_files import START_S
from nanocoder_sandbox_container import in_force
from nanocoder_sandbox_container.container import Containers
from nanocoder_sandbox_container.program import _problem_of
from nanocoder_sandbox_container.settings import ContainerSettings

IMAGE = f"debian@sha256:{'a' * 64}"
DOCKER = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ.get("LOG", "LOGFILE"), "a") as log:
    log.write(json.dumps([sys.argv[1:], sorted(os.environ)]) + "\\n")
if sys.argv[-1] == "wait":
    print("waits", flush=True)
    input()
if sys.argv[1] == "ps":
    print("c0ffee")
if sys.argv[1] == "image" and "b" * 64 in sys.argv[-1]:
    sys.exit("Error: No such image")
"""


class NoSecrets(PathFilter):
    def refuses(self, path):
        return "a secret" if path == ".env" else ""


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """Put a docker on PATH that records what it is asked; yields a function that reads that."""
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    program = folder / "docker"
    program.write_text(DOCKER.replace("LOGFILE", str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (tmp_path / "ws").mkdir()
    _problem_of.cache_clear()
    yield lambda: [json.loads(line) for line in log.read_text().splitlines()]
    _problem_of.cache_clear()


def run(tmp_path, settings, *argv, ports=()):
    (tmp_path / "ws/.env").write_text("secret")
    (tmp_path / "ws/.vscode").mkdir(exist_ok=True)
    readable = Readable([("secrets", NoSecrets())])
    box = Containers(SessionInfo("s", tmp_path / "ws", readable=readable), settings)
    wrapped = box.wrap(argv, ports, Access.WRITE)
    env = {"PATH": os.environ["PATH"], "LANG": "C", "HOME": str(tmp_path), "MAKEFLAGS": "-j2"}
    subprocess.run(wrapped, cwd=tmp_path / "ws", env=env, check=True)
    box.close()


@pytest.mark.contract("E2")
def test_a_command_runs_in_a_container_without_rights(docker, tmp_path):
    run(tmp_path, ContainerSettings(image=IMAGE, memory_mb=64, processes=9), "make", "all")
    (arguments, _), *rest = docker()
    workspace = str(tmp_path / "ws")
    assert arguments[:3] == ["run", "--workdir", workspace]
    assert arguments[-3:] == [IMAGE, "make", "all"]
    pairs = set(itertools.pairwise(arguments))
    assert {
        ("--network", "none"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--user", f"{os.getuid()}:{os.getgid()}"),
        ("--memory", "64m"),
        ("--pids-limit", "9"),
        ("--pull", "never"),
        ("--volume", f"{workspace}:{workspace}"),
        ("--volume", f"{workspace}/.vscode:{workspace}/.vscode:ro"),
        ("--env", "MAKEFLAGS"),
    } <= pairs
    assert "--read-only" in arguments
    [mask] = [word for word in arguments if word.endswith(f":{workspace}/.env:ro")]
    assert not mask.startswith(workspace), "nothing of the secret is there"
    assert not [word for word in arguments if "docker.sock" in word or word == "--privileged"]
    assert ("--env", "PATH") not in pairs
    # What outlived its command is removed with the session.
    assert [words[0] for words, _ in rest] == ["ps", "rm"]
    assert rest[1][0] == ["rm", "--force", "c0ffee"]


def test_names_are_looked_at_until_a_container_has_ended(docker, tmp_path):
    """Also of a program without the lock of other sandboxes, which runs inside the daemon."""
    box = Containers(SessionInfo("s", tmp_path / "ws"), ContainerSettings(image=IMAGE))
    with subprocess.Popen(
        box.wrap(["wait"], (), Access.WRITE),
        cwd=tmp_path / "ws",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as job:
        assert job.stdout.readline() == b"waits\n"
        time.sleep(START_S + 0.1)
        assert box.changes() == []
        (tmp_path / "ws/.vscode").mkdir()
        until = time.monotonic() + 20
        while (tmp_path / "ws/.vscode").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        job.communicate(b"\n")
    assert ".vscode was made in the sandbox" in box.changes()[0]
    box.close()


def test_a_server_can_be_reached_where_there_is_a_network(docker, tmp_path):
    run(tmp_path, ContainerSettings(image=IMAGE, network=True), "serve", ports=[8123])
    assert "--publish=127.0.0.1:8123:8123" in docker()[0][0]


@pytest.mark.contract("E2")
def test_an_image_is_pinned_and_here(docker, monkeypatch):
    with pytest.raises(ValueError, match="is not pinned"):
        ContainerSettings(image="debian:latest")
    assert in_force(ContainerSettings(image=IMAGE)) == "container"
    monkeypatch.setenv("ACME_API_KEY", "secret")
    for settings, problem in (
        (None, "no image is set"),
        (ContainerSettings(), "no image is set"),
        (ContainerSettings(image=f"debian@sha256:{'b' * 64}"), "No such image"),
        (ContainerSettings(image=IMAGE, engine="podman"), "there is no program podman"),
        (ContainerSettings(image=IMAGE, hosts=("example.org",)), "know no list of hosts"),
    ):
        with pytest.raises(ToolError, match=problem) as refused:
            in_force(settings)
        assert refused.value.error_class == "sandbox_unavailable"
    assert all("ACME_API_KEY" not in names for _, names in docker())
