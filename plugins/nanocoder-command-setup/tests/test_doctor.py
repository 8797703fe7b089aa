"""What `nanocoder doctor` checks beside the configuration and the plugins."""

import json
import re
from argparse import Namespace

import pytest
from nanocoder import Config, Host, Plugins
from nanocoder_command_setup.doctor import _package_checks, run

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


# One row for each problem


def _rows(nanocoder, config):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(config)
    done = nanocoder("doctor", "--output", "json")
    return [
        (row["check"], row["status"], row["detail"]) for row in json.loads(done.stdout)["checks"]
    ]


@pytest.mark.parametrize(
    ("config", "what", "words"),
    [
        ("[plugins.polcy-rules]\nx = 1\n", "configuration", "there is no plugin 'polcy-rules'"),
        ('[plugins.policy-rules]\nallow = ["bash(make"]\n', "plugin policy-rules", "'bash(make'"),
    ],
)
def test_a_problem_has_one_row_and_no_ok_beside_it(nanocoder, config, what, words):
    rows = _rows(nanocoder, config)
    assert [row[:2] for row in rows if words in row[2]] == [(what, "wrong")]
    assert ("configuration", "ok") not in [row[:2] for row in rows]
    assert "model" in [row[0] for row in rows], "the other checks go on"


def test_a_search_that_is_not_set_up_is_noted(nanocoder):
    [row] = [row for row in _rows(nanocoder, "") if row[0] == "web_search"]
    assert row[1] == "note"
    assert "no search is set up" in row[2]
    config = '[plugins.tool-web]\ninstance = "https://search.example.org"\n'
    assert "web_search" not in [row[0] for row in _rows(nanocoder, config)]


# What an installed package requires, and somebody has removed


def _distribution(folder, name, *requirements, plugin=""):
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    lines = [f"Requires-Dist: {each}" for each in requirements]
    head = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1", *lines]
    (info / "METADATA").write_text("\n".join(head) + "\n")
    if plugin:
        (info / "entry_points.txt").write_text(f"[nanocoder]\n{plugin} = {name}\n")


def test_what_an_installed_package_lacks_is_named(tmp_path, monkeypatch):
    _distribution(tmp_path, "nanocoder-set-acme", "nanocoder-core", "nanocoder-tool-gone>=0.1")
    _distribution(
        tmp_path,
        "acme-thing",
        "attrs >= 22",
        "acme_library[fast]",
        'acme-extra; extra == "more"',
        plugin="acme-thing",
    )
    _distribution(tmp_path, "acme-library-of-nothing", "acme-unused")
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = [
        (what, status, detail.partition(";")[0])
        for what, status, detail in _package_checks(Host(str(tmp_path)))
        if "acme" in what
    ]
    assert lines == [
        ("package acme-thing", "wrong", "requires acme_library, which is not installed"),
        (
            "package nanocoder-set-acme",
            "note",
            "requires nanocoder-tool-gone, which is not installed",
        ),
    ]


def test_an_installed_sandbox_that_nobody_has_chosen_is_named(nanocoder):
    line = next(line for line in nanocoder("doctor").stdout.splitlines() if "sandbox " in line)
    assert "commands run in none; installed: " in line
    assert "nanocoder config set sandbox" in line
    nanocoder("config", "set", "sandbox", "none")
    assert "commands run in none" not in nanocoder("doctor").stdout
