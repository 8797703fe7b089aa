"""The built wheels in empty environments: what is installed is what there is."""

import email
import json
import os
import subprocess
import zipfile

import pytest
import repository

pytestmark = pytest.mark.timeout(600)


def tool_names(installed):
    done = installed.nanocoder("tools", "--output", "json")
    assert done.returncode == 0, done.stderr
    return sorted(tool["name"] for tool in json.loads(done.stdout))


def test_every_package_has_a_wheel_with_its_types_and_without_its_tests(wheelhouse):
    wheels = {wheel.name.split("-")[0]: wheel for wheel in wheelhouse.glob("*.whl")}
    assert set(wheels) == {package.name.replace("-", "_") for package in repository.packages()}
    for package in repository.packages():
        names = zipfile.ZipFile(wheels[package.name.replace("-", "_")]).namelist()
        assert {f"{module}/py.typed" for module in package.modules} <= {*names}
        tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
        assert tops == {*package.modules}


def test_no_wheel_names_an_address_or_the_checkout(wheelhouse):
    for wheel in wheelhouse.glob("*.whl"):
        archive = zipfile.ZipFile(wheel)
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        needed = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
        assert [item for item in needed if "@" in item or "file:" in item] == []


def test_the_locked_versions_and_all_wheels_make_a_clean_installation(make_installed, wheelhouse):
    installed = make_installed()
    lock = repository.ROOT / "requirements.lock"
    installed.uv("install", "--require-hashes", "--requirements", str(lock))
    kit = repository.testing().module  # needs pytest, which the lock leaves out on purpose
    wheels = [path for path in wheelhouse.glob("*.whl") if not path.name.startswith(f"{kit}-")]
    installed.uv("install", "--no-deps", *map(str, wheels))
    installed.uv("check")
    doctor = installed.nanocoder("doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr


@pytest.mark.contract("NT-70")
def test_the_core_alone_starts_says_what_is_missing_and_ends_cleanly(make_installed):
    installed = make_installed("nanocoder-core")
    assert tool_names(installed) == []
    done = installed.nanocoder("run", "Hello")
    assert done.returncode == 4
    assert "--model PROVIDER/MODEL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_is_there_as_long_as_its_plugin_is_installed(make_installed):
    installed = make_installed("nanocoder-tool-grep", "nanocoder-provider-scripted")
    assert tool_names(installed) == ["grep"]
    installed.install("nanocoder-tool-read")
    assert tool_names(installed) == ["grep", "read_file"]
    installed.uv("uninstall", "nanocoder-tool-read")
    assert tool_names(installed) == ["grep"]


SETS = [package.name for package in repository.plugins() if package.kind == "set"]


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", SETS)
def test_a_set_installs_and_the_doctor_has_nothing_to_say(make_installed, name):
    installed = make_installed(name)
    doctor = installed.nanocoder("doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "read_file" in tool_names(installed)


def test_the_readmes_way_to_install_from_a_clone_makes_a_command_that_works(wheelhouse, tmp_path):
    (line,) = (
        line.removeprefix("$ ")
        for line in (repository.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("$ uv tool install --find-links dist")
    )
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment = {**kept, "HOME": str(home), "UV_CACHE_DIR": str(tmp_path / "cache")}
    environment |= {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin")}
    command = [str(wheelhouse) if word == "dist" else word for word in line.split()]
    subprocess.run(command, env=environment, cwd=home, check=True)
    doctor = [str(home / "bin/nanocoder"), "doctor"]
    done = subprocess.run(
        doctor, env=environment, cwd=home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    more = [doctor[0], "plugins", "install", "dialect-nano", "--yes"]
    subprocess.run(more, env=environment, cwd=home, check=True)  # from the same folder of wheels
    listed = subprocess.run(
        [doctor[0], "plugins", "list"], env=environment, cwd=home, capture_output=True, check=True
    )
    assert b"dialect-nano" in listed.stdout
