"""Profiles from files: read, listed, used, and named with file and line where they are wrong."""

import json

import pytest

pytestmark = pytest.mark.timeout(60)
GOOD = """---
name: reviewer
description: Reviews a change.
tools: [read_file, grep]
mode: plan
---
Answer with the worst mistake only.
"""
CALL = {"description": "d", "prompt": "p", "name": "reviewer"}


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


@pytest.fixture
def own(nanocoder):
    return nanocoder.home / ".config/nanocoder/agents"


@pytest.fixture
def task(nanocoder):
    def call(**more):
        model = nanocoder.script({"text": "Looked."})
        words = ("--mode", "auto", json.dumps({**CALL, **more}))
        return nanocoder("call", "task", *words, env={"NANOCODER_MODEL": model})

    return call


def test_a_sub_agent_works_by_the_users_file(nanocoder, own, task):
    write(own, "reviewer.md", GOOD)
    done = task()
    assert done.returncode == 0, done.stderr
    assert "Looked." in done.stdout
    journals = (nanocoder.home / ".local/state/nanocoder/sessions").rglob("*.jsonl")
    text = "".join(path.read_text() for path in journals)
    assert "Answer with the worst mistake only." in text
    listed = json.loads(nanocoder("agents", "--output", "json").stdout)["agents"]
    (row,) = (row for row in listed if row["agent"] == "reviewer")
    assert (row["mode"], row["tools"]) == ("plan", "read_file, grep")
    assert row["description"] == "Reviews a change."
    assert row["from"] == str(own / "reviewer.md")


def test_the_projects_files_count_only_when_that_is_set(nanocoder, own, task):
    write(nanocoder.cwd / ".nanocoder/agents", "reviewer.md", GOOD)
    refused = task()
    assert "there is no profile 'reviewer'" in refused.stdout + refused.stderr
    assert "project_profiles = true" in nanocoder("agents").stderr
    project = nanocoder.cwd / ".nanocoder/config.toml"
    project.write_text("[plugins.tool-task]\nproject_profiles = true\n")
    assert "there is no profile" in (done := task()).stdout + done.stderr
    project.unlink()
    write(own.parent, "config.toml", "[plugins.tool-task]\nproject_profiles = true\n")
    assert task().returncode == 0
    write(own, "reviewer.md", GOOD.replace("Reviews a change", "The user's"))
    assert "The user's" in nanocoder("agents").stdout


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("Look.\n", 1, "the first line must be ---"),
        ("---\nname: reviewer\n", 2, "no line --- ends the head"),
        (GOOD.replace("mode: plan", "mood: plan"), 5, "unknown key 'mood'"),
        (GOOD.replace("mode: plan", "mode: free"), 5, "mode must be one of"),
        (GOOD.replace("mode: plan", "plan"), 5, "must be KEY: VALUE"),
        (GOOD.replace("mode: plan", "name: other"), 5, "'name' is there twice"),
        (GOOD.replace("Reviews a change.", ""), 3, "the description is missing"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(nanocoder, own, task, text, line, problem):
    write(own, "reviewer.md", text)
    done = nanocoder("agents")
    assert done.returncode == 1
    assert f"{own}/reviewer.md:{line}: " in done.stderr
    assert problem in done.stderr
    refused = task()
    assert problem in refused.stdout + refused.stderr


def test_a_built_in_name_and_unknown_tools_are_refused(nanocoder, own):
    write(own, "explore.md", GOOD.replace("name: reviewer\n", ""))
    write(own, "other.md", GOOD.replace("reviewer", "other").replace("grep", "grap, web_*"))
    done = nanocoder("agents")
    assert "'explore' is the name of a built-in profile" in done.stderr
    assert "there is no tool 'grap'" in done.stderr
    assert "web_" not in done.stderr


def test_lists_over_several_lines_and_comments(nanocoder, own):
    head = "tools:\n  - read_file\n  - 'grep'\n# a comment\nmode: plan"
    write(own, "reviewer.md", GOOD.replace("tools: [read_file, grep]\nmode: plan", head))
    done = nanocoder("agents")
    assert done.returncode == 0, done.stderr
    assert "read_file, grep" in done.stdout
