"""The reference's shapes and texts, played by a scripted model with the installed tools."""

import re

import pytest
from nanocoder import Decision, ToolCall, ToolResult, Verdict, hookimpl
from nanocoder_dialect_nano import nanocoder_dialects

NAMES = ["read", "write", "edit", "bash", "glob", "grep", "batch", "task", "skill"]
SHAPED = ("read", "write", "edit", "bash", "glob", "grep", "batch")


@pytest.fixture
def dialect():
    (dialect,) = nanocoder_dialects()
    return dialect


def call(name, **arguments):
    return ToolCall("1", name, arguments)


@pytest.mark.contract("NA-21")
@pytest.mark.contract("NA-37")
@pytest.mark.contract("NA-41")
@pytest.mark.contract("NA-48")
@pytest.mark.contract("NA-55")
def test_the_model_is_told_of_the_tools_as_the_reference_tells_it(offers, golden):
    assert {name: offers[name] for name in SHAPED} == golden("offers.json")
    assert next(iter(offers)) == "read"


@pytest.mark.contract("NA-54")
def test_all_nine_names_are_offered_with_the_tools_that_there_are(offers):
    assert list(offers) == NAMES


@pytest.mark.contract("NA-53")
def test_a_task_names_no_tool_that_is_not_offered(dialect, offers, answers):
    assert "task_result" not in str(offers["task"])
    arguments = {"description": "Look", "prompt": "Look around."}
    note = "Its changes are in a.patch.\ntask_result with id a1 and merge merges it."
    merged = dialect.render(call("task", **arguments), ToolResult(note, data={}))
    assert merged == "Its changes are in a.patch."
    (text,) = answers(("task", {**arguments, "name": "poet"}))
    assert text.startswith("Error: there is no profile 'poet'; there are build, explore, ")


@pytest.mark.contract("NA-31")
@pytest.mark.contract("NA-32")
def test_lines_are_numbered_under_a_line_that_says_which_they_are(tmp_path, answers):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    path = str(tmp_path / "a.txt")
    assert answers(
        ("read", {"path": path}),
        ("read", {"path": path, "offset": 0, "limit": 1}),
        ("read", {"path": path, "offset": 1}),
    ) == [
        "[3 lines]\n     1\tone\n     2\ttwo\n     3\tthree",
        "[Lines 1-1 of 3]\n     1\tone",
        "[Lines 2-3 of 3]\n     2\ttwo\n     3\tthree",
    ]


@pytest.mark.contract("NA-27")
@pytest.mark.contract("NA-13")
@pytest.mark.parametrize("name", ["read", "write", "edit"])
def test_a_relative_path_is_refused_by_the_name_of_the_parameter(answers, name):
    more = {"read": {}, "write": {"content": ""}, "edit": {"old_string": "a", "new_string": "b"}}
    assert answers((name, {"path": "a.txt", **more[name]})) == [
        "Error: path: expected an absolute path, got 'a.txt'"
    ]


@pytest.mark.contract("NA-28")
@pytest.mark.contract("NA-49")
def test_outside_is_refused_with_the_directory_that_is_inside(tmp_path, answers):
    (tmp_path / "link").symlink_to("/etc")
    texts = answers(
        ("read", {"path": "/etc/passwd"}),
        ("write", {"path": f"{tmp_path}-evil/a.txt", "content": ""}),
        ("read", {"path": str(tmp_path / "link/passwd")}),
        ("glob", {"pattern": "*", "path": "/etc"}),
    )
    assert texts == [f"Error: Path must be within working directory: {tmp_path}"] * 4


@pytest.mark.contract("NA-16")
@pytest.mark.contract("NA-29")
@pytest.mark.contract("NA-30")
def test_what_cannot_be_read_is_said_in_the_words_of_the_reference(tmp_path, answers):
    (tmp_path / "big").write_bytes(b"x\n" * 2_500_001)
    missing, big = str(tmp_path / "none"), str(tmp_path / "big")
    assert answers(("read", {"path": missing}), ("read", {"path": big})) == [
        f"Error: File not found: {missing}",
        "Error: File too large: 5000002 bytes (max: 5000000)",
    ]


@pytest.mark.contract("NA-34")
@pytest.mark.contract("NA-36")
@pytest.mark.contract("NA-38")
@pytest.mark.contract("NA-39")
@pytest.mark.contract("NA-40")
def test_writing_and_editing_answer_as_in_the_reference(tmp_path, answers):
    path = str(tmp_path / "new/a.txt")
    several = f"Found multiple occurrences of the text in {path}."
    several += " Add more of what is around it, so that it is unique"
    assert answers(
        ("write", {"path": path, "content": "\u00e4 one\none\n"}),
        ("edit", {"path": path, "old_string": "\u00e4 one", "new_string": "two"}),
        ("edit", {"path": path, "old_string": "o", "new_string": "0"}),
        ("edit", {"path": path, "old_string": "nothing like it", "new_string": ""}),
    ) == [
        f"Successfully wrote 11 bytes to {path}",
        f"Successfully replaced text in {path}",
        f"Error: {several}",
        f"Error: Could not find the text to replace in {path}",
    ]
    assert (tmp_path / "new/a.txt").read_text() == "two\none\n"


def test_an_edit_that_was_not_exact_says_so(tmp_path, answers):
    path = tmp_path / "a.py"
    path.write_text("    first()\n    second()\n")
    arguments = {"path": str(path), "old_string": "first()\nsecond()", "new_string": "x"}
    (text,) = answers(("edit", arguments))
    assert re.fullmatch(rf"Successfully replaced text in {path} \(found by \w+\)", text)


@pytest.mark.contract("NA-45")
def test_a_command_answers_with_status_duration_and_streams(answers):
    ran, quiet = (
        re.sub(r"\d+ms", "Nms", text)
        for text in answers(
            ("bash", {"command": "echo out; echo err >&2; exit 3"}), ("bash", {"command": "true"})
        )
    )
    assert ran == "Exit Code: 3\nDuration: Nms\nSTDOUT:\nout\nSTDERR:\nerr"
    assert quiet == "Exit Code: 0\nDuration: Nms\nSTDOUT:\n(empty)\nSTDERR:\n(empty)"


@pytest.mark.contract("NA-41")
def test_the_limit_of_a_command_is_in_milliseconds(dialect, answers):
    assert dialect.canonical(call("bash", command="ls")).arguments["timeout"] == 120
    # On a busy machine a shell may need a second to start.
    (text,) = answers(("bash", {"command": "echo first; sleep 20", "timeout": 3_000}))
    assert text.startswith("Error: Command timed out after 3000ms\nExit Code: ")
    assert "STDOUT:\nfirst\n" in text


@pytest.mark.contract("NA-46")
def test_an_aborted_command_says_so(dialect):
    aborted = ToolResult("x", is_error=True, error_class="cancelled")
    assert dialect.render(call("bash", command="ls"), aborted) == "Error: Command was aborted"


@pytest.mark.contract("NA-50")
@pytest.mark.contract("NA-51")
@pytest.mark.contract("NA-52")
def test_files_are_numbered_with_absolute_paths_newest_first(tmp_path, answers):
    import os

    for age, name in enumerate(("new.ts", "old.ts", "node_modules/x.ts")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    listed, none, wider = answers(
        ("glob", {"pattern": "*.ts"}),
        ("glob", {"pattern": "*.go"}),
        ("glob", {"pattern": "src/*.ts", "path": str(tmp_path)}),
    )
    assert listed == f"1. {tmp_path}/new.ts\n2. {tmp_path}/old.ts"
    assert none == "No files found"
    assert wider.startswith(f"No files found; these match **/*.ts:\n1. {tmp_path}/new.ts")


@pytest.mark.contract("NA-53")
def test_grep_finds_lines(tmp_path, answers):
    (tmp_path / "a.ts").write_text("one\n")
    (tmp_path / "b.md").write_text("one\n")
    assert answers(("grep", {"pattern": "o.e", "include": "*.ts"})) == [
        "1 line matches:\na.ts:1: one"
    ]


@pytest.mark.contract("NA-53")
def test_calls_in_a_batch_are_calls_of_the_dialect(tmp_path, answers):
    path = str(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("one\n")
    calls = [
        {"tool": "read", "parameters": {"path": path, "offset": 0}},
        {"tool": "delete_file", "parameters": {"path": path}},
        {"tool": "bash", "parameters": {"command": "sleep 9", "timeout": 200}},
        {"tool": "edit", "parameters": {"path": path}},
    ]
    (text,) = answers(("batch", {"tool_calls": calls}))
    assert text.startswith("1 of 4 calls succeeded. Failed: 2 (unknown_tool), 3 (timeout")
    assert "\n\n[1] read: ok\n1\tone" in text
    assert "Unknown tool: delete_file\n" in text
    assert "[3] bash: error (timeout, exit code 130)" in text
    assert "[4] edit: error (invalid_arguments)" in text
    assert (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("name", ["read_file", "list_files", "ls"])
def test_a_name_that_the_reference_does_not_have_is_unknown(answers, name):
    assert answers((name, {})) == [f"Error: Unknown tool: {name}"]


def test_a_denied_call_is_told_also_inside_a_batch(tmp_path, answers):
    class NoShell:
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(Decision.DENY, "no shell") if call.name == "bash" else None

    shell = {"command": "touch x", "timeout": 5_000}
    batch = {"tool_calls": [{"tool": "bash", "parameters": shell}]}
    texts = answers(("bash", shell), ("batch", batch), with_plugins={"no-shell": NoShell()})
    assert texts[0].startswith("Error: ")
    assert all("no shell" in text for text in texts)
    assert not (tmp_path / "x").exists()


def test_the_model_is_told_that_a_person_changed_its_call(tmp_path, answer_to_edited):
    note, rest, same = answer_to_edited("write", path=str(tmp_path / "a.txt"), content="model")
    assert note.startswith("[a person changed the arguments to {")
    assert "a person's" in note
    assert rest == same
