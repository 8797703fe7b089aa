"""`run --dry-run`: what reads is done, and each change is shown as a diff and not made."""

import json
import subprocess
from types import SimpleNamespace

import pytest
from nanocoder import Effect, Plugins, ToolCall, ToolContext, hookimpl, tool
from nanocoder.call.preview import DRY_RUN_RESULT, is_performed
from nanocoder_kit_sessions.file_history import History
from nanocoder_kit_sessions.records import read
from nanocoder_testing import play

pytestmark = [
    pytest.mark.contract("B10"),
    pytest.mark.timeout(60),
    pytest.mark.usefixtures("no_sandbox"),
]


@pytest.fixture
def work(nanocoder):
    """Return a repository with a file, and the words of a dry run that changes all there is."""
    (nanocoder.cwd / "a.txt").write_text("one\ntwo\n")
    subprocess.run(["git", "init", "-q"], cwd=nanocoder.cwd, check=True)
    edit = {"path": "a.txt", "old_string": "two", "new_string": "three"}
    turns = [
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {
            "calls": [
                {"name": "edit_file", "arguments": edit},
                {"name": "write_file", "arguments": {"path": "new/b.txt", "content": "hello\n"}},
                {"name": "bash", "arguments": {"command": "touch made; rm a.txt"}},
                {"name": "delete_file", "arguments": {"path": "a.txt"}},
                {"name": "edit_file", "arguments": {**edit, "old_string": "nowhere"}},
            ]
        },
        {"text": "That is all."},
    ]
    return ["run", "--dry-run", "--model", nanocoder.script(*turns), "go"]


def tree(folder):
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime_ns,
            path.is_dir() or path.read_bytes(),
        )
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_every_change_is_shown_and_none_is_made(nanocoder, work, mode):
    before = tree(nanocoder.cwd)
    done = nanocoder(*work, "--mode", mode)
    assert tree(nanocoder.cwd) == before
    assert (done.returncode, done.stdout) == (0, "That is all.\n")
    for shown in ("-two\n+three", "new file new/b.txt", "touch made; rm a.txt", "delete a.txt"):
        assert shown in done.stderr
    assert ("after your approval" in done.stderr) == (mode == "ask")
    assert "dry run: nothing was changed" in done.stderr


def test_a_program_gets_the_changes_in_order(nanocoder, work):
    report = json.loads(nanocoder(*work, "--output", "json").stdout)
    rows = report["dry_run"]
    assert [row["tool"] for row in rows] == ["edit_file", "write_file", "bash", "delete_file"]
    assert rows[0]["preview"].endswith("-two\n+three")
    assert all("needs your approval" in row["approval"] for row in rows)
    assert report["files_changed"] == []
    classes = {row["tool"]: row["error_class"] for row in report["tool_calls"]}
    assert classes["read_file"] == "", "what reads is done"
    assert classes["edit_file"] == "text_not_found", "what cannot work is an error as ever"
    work.remove("--dry-run")
    assert json.loads(nanocoder(*work, "--output", "json").stdout)["dry_run"] is None


def test_what_a_rule_denies_is_denied_and_shown_to_nobody(nanocoder, work):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["edit_file", "bash(rm *)"]\n')
    report = json.loads(nanocoder(*work, "--output", "json").stdout)
    assert [row["tool"] for row in report["dry_run"]] == ["write_file", "delete_file"]
    assert [row["tool"] for row in report["denials"]] == ["edit_file", "bash", "edit_file"]


def test_nothing_of_a_dry_run_can_be_undone(nanocoder, work):
    nanocoder(*work)
    (journal,) = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")
    assert History(read(journal)).last() is None


def test_steps_of_a_batch_are_shown(nanocoder):
    calls = [{"tool": "write_file", "parameters": {"path": "c.txt", "content": "x\n"}}]
    batch = {"calls": [{"name": "batch", "arguments": {"tool_calls": calls}}]}
    words = ["run", "--dry-run", "--model", nanocoder.script(batch, {"text": "done"}), "go"]
    done = nanocoder(*words, "--output", "json")
    report = json.loads(done.stdout)
    assert [row["tool"] for row in report["dry_run"]] == ["write_file"], done.stdout
    assert not (nanocoder.cwd / "c.txt").exists()


@tool(risk="medium", effects={Effect.WRITE})
def change(ctx: ToolContext) -> str:
    """Change something, for tests."""
    raise AssertionError(ctx)


def test_the_model_is_told_and_does_not_see_what_the_person_sees(tmp_path):
    plugins = Plugins()
    plugins.add(
        SimpleNamespace(
            nanocoder_tools=hookimpl(lambda: [change]),
            nanocoder_render=hookimpl(lambda: "a line of a file that a rule guards"),
        ),
        "changing",
    )
    played = play(tmp_path, [[("change", {})], "done"], plugins=plugins, dry_run=True)
    assert "Dry run" in played.model.requests[0].system
    (result,) = played.results
    assert result.output == DRY_RUN_RESULT
    (row,) = played.report["dry_run"]
    assert "guards" in row["preview"]


@pytest.mark.parametrize(
    ("options", "performed"),
    [
        ({"effects": {Effect.READ}}, True),
        ({"effects": {Effect.WRITE}}, False),
        ({"effects": {Effect.EXECUTE}}, False),
        ({"effects": ()}, False),
        ({"effects": {Effect.WRITE}, "composed_of": ("*",)}, True),
        ({"effects": {Effect.WRITE}, "composed_of": ("read_file",)}, False),
        ({"effects": {Effect.WRITE}, "only_reads": lambda _: True}, True),
        ({"effects": {Effect.WRITE}, "composed_of": ("*",), "only_reads": lambda _: False}, False),
        ({"effects": {Effect.WRITE}, "only_reads": lambda _: 1 / 0}, False),
    ],
)
def test_what_may_change_something_is_not_performed(options, performed):
    def act() -> str:
        """Act, for tests."""

    assert is_performed(tool(risk="safe", **options)(act), ToolCall("1", "act")) is performed
