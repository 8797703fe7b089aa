"""What `nanocoder doctor` checks beside the configuration and the plugins."""

import json
import re
from argparse import Namespace

import pytest
from nanocoder import Config, Host, Plugins
from nanocoder_command_setup.doctor import run

pytestmark = pytest.mark.timeout(60)


# A PYTHONPATH by which a folder's files run before nanocoder does


@pytest.mark.finding("H16")
@pytest.mark.finding("N8")
@pytest.mark.parametrize("path", [".", "lib", ":", "{home}:", "{work}", "{work}/lib:{home}"])
def test_a_search_path_that_leads_into_the_workspace_is_named(nanocoder, path):
    path = path.format(home=nanocoder.home, work=nanocoder.cwd)
    done = nanocoder("doctor", env={"PYTHONPATH": path})
    assert "PYTHONPATH" in done.stdout
    assert "before Python's own modules" in " ".join(done.stdout.split())
    assert done.returncode == 1


@pytest.mark.finding("H16")
def test_a_search_path_outside_the_workspace_is_fine(nanocoder):
    done = nanocoder("doctor", env={"PYTHONPATH": str(nanocoder.home)})
    assert "PYTHONPATH" not in done.stdout


# What keeps sessions


def test_the_doctor_notes_that_nothing_is_kept_and_names_the_package(tmp_path, capsys):
    host = Host(str(tmp_path))
    host.__dict__["plugins"] = Plugins()
    host.__dict__["config"] = Config.load(tmp_path, environment={"HOME": str(tmp_path / "home")})
    assert run(Namespace(output="json"), host) == 0
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["store"]["status"] == "note"
    assert re.search(
        r"nanocoder plugins install nanocoder-store-\w+ adds it$", checks["store"]["detail"]
    )


def test_the_doctor_prints_no_secret(nanocoder):
    token = "ghp_" + "d" * 36
    done = nanocoder("doctor", env={"PYTHONPATH": f"{nanocoder.cwd}/{token}"})
    assert token not in done.stdout + done.stderr
    assert "[secret:" in " ".join(done.stdout.split())
