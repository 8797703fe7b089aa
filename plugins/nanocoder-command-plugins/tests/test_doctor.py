"""What `nanocoder doctor` checks beside the configuration and the plugins."""

import json
import re
from argparse import Namespace

import pytest
from command_line import plugin_in
from nanocoder import Config, Host, Plugins
from nanocoder_command_setup.doctor import _package_checks, run

pytestmark = pytest.mark.timeout(60)


# A PYTHONPATH by which a folder's files run before nanocoder does


@pytest.mark.rows(2)
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


def test_a_model_whose_server_does_not_answer_is_noted(nanocoder):
    nanocoder.environment["OLLAMA_HOST"] = "http://127.0.0.1:9"
    [row] = [row for row in _rows(nanocoder, 'model = "ollama/qwen3"\n') if row[0] == "model"]
    assert row[1] == "note"
    assert "ollama/qwen3 does not answer now" in row[2]


def test_a_search_that_is_not_set_up_is_noted(nanocoder):
    [row] = [row for row in _rows(nanocoder, "") if row[0] == "web_search"]
    assert row[1] == "note"
    assert "web search is not configured" in row[2]
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


# What commands run in

OUTSIDE = "commands run without a sandbox"
WAY = "nanocoder config set sandbox auto takes the best one that works"
BOXES = """
from nanocoder import Sandbox, ToolError, hookimpl


def broken(settings):
    raise ToolError("no such kernel", error_class="sandbox_unavailable")


@hookimpl
def nanocoder_sandboxes():
    return [Sandbox("broken", broken, rank=1), Sandbox("plain", lambda settings: "plain", rank=2)]
"""


@pytest.mark.parametrize(
    ("config", "rows", "code"),
    [
        ("", [("ok", "commands run in plain"), ("note", "no such kernel")], 0),
        (
            'sandbox = "none"\n',
            [("note", f"FILE:1: commands run without a sandbox: sandbox is 'none'; {WAY}")],
            0,
        ),
        ('sandbox = "broken"\n', [("wrong", "FILE:1: no such kernel")], 1),
        (
            'require_sandbox = true\nsandbox = "broken"\n',
            [("wrong", f"FILE:1: no session starts, as {OUTSIDE}: no such kernel")],
            1,
        ),
    ],
)
def test_the_doctor_says_what_commands_run_in_and_why_not_in_another(
    nanocoder, tmp_path, config, rows, code
):
    variables = plugin_in(tmp_path / "site", "sandbox-boxes", BOXES)
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(config)
    done = nanocoder("doctor", "--output", "json", env=variables)
    checks = json.loads(done.stdout)["checks"]
    shown = [(row["status"], row["detail"]) for row in checks if row["check"] == "sandbox"]
    assert shown == [(status, text.replace("FILE", str(file))) for status, text in rows]
    # PYTHONPATH, by which the plugin is here, is fine outside of the workspace.
    assert done.returncode == code, done.stdout


def test_the_way_that_the_doctor_names_to_a_sandbox_works(nanocoder):
    assert nanocoder("config", "set", "sandbox", "none").returncode == 0
    assert "config set sandbox auto" in " ".join(nanocoder("doctor").stdout.split())
    assert nanocoder("config", "set", "sandbox", "auto").returncode == 0
    assert "config set sandbox auto" not in " ".join(nanocoder("doctor").stdout.split())
