"""The reference's shapes and texts, played by a scripted model with the installed tools."""

import base64

import pytest
from nanocoder import Decision, ToolCall, ToolResult, Verdict, hookimpl
from nanocoder_dialect_m31a import nanocoder_dialects
from nanocoder_dialect_m31a.texts import SHOWN_CHARS

NAMES = (
    *("Bash", "FileRead", "FileWrite", "Edit", "Glob", "Grep", "FileDelete", "FileMove"),
    *("FileList", "CodeMap", "WebFetch", "WebSearch", "TodoWrite", "TodoRead"),
    *("AskUserQuestion", "Agent", "AgentResult", "CodeComplexity", "DevServer", "HTTPCheck"),
)
SHAPED = ("Bash", "FileRead", "FileWrite", "Edit", "Grep", "FileMove")


@pytest.fixture
def dialect():
    (dialect,) = nanocoder_dialects()
    return dialect


def call(name, **arguments):
    return ToolCall("1", name, arguments)


@pytest.mark.contract("MA-01")
def test_the_model_is_told_of_the_tools_as_the_reference_tells_it(offers, golden):
    assert {name: offers[name] for name in SHAPED} == golden("offers.json")


@pytest.mark.contract("MA-103")
def test_all_nineteen_names_are_offered_with_the_tools_that_there_are(offers):
    assert tuple(offers) == NAMES
    assert len(set(NAMES) - {"AgentResult"}) == 19


@pytest.mark.contract("MA-82")
@pytest.mark.contract("MA-84")
def test_a_sub_agent_is_called_as_in_the_reference(dialect, answers):
    arguments = {"description": "Look", "prompt": "Look around.", "name": "explore"}
    behind = ToolCall(
        "1", "Agent", {**arguments, "isolation": "worktree", "run_in_background": True}
    )
    assert dialect.canonical(behind).arguments == {
        **arguments,
        "isolation": "worktree",
        "background": True,
    }
    started, listed, unknown = answers(
        ("Agent", {**arguments, "run_in_background": True}),
        ("AgentResult", {}),
        ("Agent", {**arguments, "name": "poet"}),
    )
    assert started.startswith("a1: Look (started)\nYou are told when one has finished; AgentResult")
    assert listed.startswith("a1 ")
    assert unknown.startswith("Error: there is no profile 'poet'; there are build, explore, ")


def test_what_a_sub_agent_says_stays_as_it_is(dialect):
    merge = "task_result with id a1 and merge merges it."
    ours = [merge, "", "[a2 has finished: b; task_result reads its answer]"]
    result = ToolResult("\n".join(["Ask task_result.", *ours]), data={})
    assert dialect.render(call("AgentResult", id="a1"), result).splitlines() == [
        "Ask task_result.",
        *(line.replace("task_result", "AgentResult") for line in ours),
    ]


def test_the_end_of_a_sub_agent_is_announced_with_the_name_of_the_dialect(dialect):
    line = "[a1 has finished: the task of task_results; task_result reads its answer]"
    assert dialect.reword(line) == line.replace("task_result ", "AgentResult ")


def test_what_the_reference_has_and_nobody_installed_is_said(dialect):
    failed = ToolResult("there is no tool", is_error=True, error_class="unknown_tool")
    text = dialect.render(call("CodeMap"), failed)
    assert text == 'Error: the tool "CodeMap" is not installed'


def test_an_unknown_name_is_answered_with_the_names_that_there_are(answers):
    (text,) = answers(("read_file", {"path": "a"}))
    assert text == f'Error: unknown tool "read_file"; the tools are {", ".join(NAMES)}'


@pytest.mark.contract("MA-02")
def test_a_command_has_half_an_hour_and_never_more(dialect, answers):
    assert dialect.canonical(call("Bash", command="ls")).arguments["timeout"] == 1_800
    texts = answers(
        ("Bash", {"command": "ls", "timeout": 0}),
        ("Bash", {"command": "ls", "timeout": 1_801}),
        ("Bash", {"command": "sleep 9", "timeout": 1}),
    )
    assert texts == [
        "Error: timeout: expected at least 1, got 0",
        "Error: timeout: expected at most 1800, got 1801",
        "Error: timed out after 1 seconds",
    ]


@pytest.mark.contract("MA-03")
def test_a_long_output_is_cut_with_the_marker_of_the_reference(answers):
    (text,) = answers(("Bash", {"command": "yes | head -c 70000; exit 4"}))
    assert len(text) == SHOWN_CHARS
    assert text.endswith("[... output truncated]\nExit code: 4")


@pytest.mark.contract("MA-07")
@pytest.mark.contract("MA-09")
def test_a_command_keeps_its_output_when_it_fails(tmp_path, answers):
    (tmp_path / "sub").mkdir()
    assert answers(
        ("Bash", {"command": "echo out; echo err >&2; exit 3"}),
        ("Bash", {"command": "true"}),
        ("Bash", {"command": "basename $PWD", "workdir": "sub"}),
        ("Bash", {"command": "printf 'a\\0b'"}),
    ) == [
        "out\nerr\nExit code: 3",
        "(no output)",
        "sub",
        "[binary output: 3 bytes, not shown]",
    ]


@pytest.mark.contract("MA-11")
@pytest.mark.contract("MA-12")
def test_lines_are_numbered_as_by_cat(tmp_path, answers):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    assert answers(
        ("FileRead", {"path": "a.txt"}), ("FileRead", {"path": "a.txt", "offset": 2, "limit": 1})
    ) == [
        "     1\tone\n     2\ttwo\n     3\tthree",
        "     2\ttwo\n[lines 2-2 of 3]",
    ]


@pytest.mark.contract("MA-10")
@pytest.mark.contract("MA-13")
@pytest.mark.contract("MA-15")
def test_what_cannot_be_read_has_its_own_error(tmp_path, answers):
    (tmp_path / "big").write_bytes(b"x\n" * 2_500_001)
    (tmp_path / "long").write_text("x" * 3_000)
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "zip").write_bytes(b"PK\x03\x04\0\0")
    big, long, link, folder, missing, binary = answers(
        *(("FileRead", {"path": path}) for path in ("big", "long", "link", ".", "none", "zip"))
    )
    assert big.startswith("Error: 'big' has 5,000,002 bytes, more than the 5,000,000")
    assert long == "     1\t" + "x" * 2_000
    assert link.startswith("Error: 'link' is outside the workspace")
    assert folder.startswith("Error: '.' is a directory; FileList shows what is in it")
    assert missing == "Error: there is no file 'none'"
    assert binary == "[binary file: zip archive, 6 bytes; its content is not shown]"


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


@pytest.mark.contract("MA-14")
def test_an_image_is_attached(tmp_path, play_calls):
    (tmp_path / "a.png").write_bytes(base64.b64decode(PIXEL))
    (result,) = play_calls(("FileRead", {"path": "a.png"})).results
    assert [attachment.media_type for attachment in result.attachments] == ["image/png"]
    assert result.output.startswith("[image/png")


@pytest.mark.contract("MA-18")
@pytest.mark.contract("MA-19")
def test_a_file_is_written(answers):
    assert answers(
        ("FileWrite", {"path": "new/a.txt", "content": "x\n"}),
        ("FileWrite", {"path": "a.bin", "content": "a\0b"}),
    ) == [
        "File created: new/a.txt (2 bytes)",
        "Error: content has a NUL at character 2; FileWrite writes text only",
    ]


@pytest.mark.contract("MA-30")
@pytest.mark.contract("MA-31")
@pytest.mark.contract("MA-32")
@pytest.mark.contract("MA-33")
@pytest.mark.contract("MA-36")
def test_an_edit_names_how_the_place_was_found_and_shows_the_change(tmp_path, answers):
    (tmp_path / "a.txt").write_text("one\ntwo\none\n")
    many, lines, both, neither, twice = answers(
        ("Edit", {"path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": True}),
        ("Edit", {"path": "a.txt", "start_line": 2, "end_line": 3, "new_string": "2"}),
        ("Edit", {"path": "a.txt", "old_string": "1", "start_line": 1, "new_string": "2"}),
        ("Edit", {"path": "a.txt", "new_string": "2"}),
        ("Edit", {"path": "a.txt", "old_string": "none", "new_string": "2"}),
    )
    assert many.startswith("Edited a.txt: 2 replacements (strategy exact, confidence 1.00)\n---")
    assert lines.startswith("Edited a.txt: 1 replacement (strategy line_range, confidence 1.00)\n")
    assert lines.endswith("@@ -1,3 +1,2 @@\n 1\n-two\n-1\n+2")
    assert both == ("Error: give old_string or start_line, not both; old_string is then empty")
    assert neither == "Error: old_string or start_line: one of them is required"
    assert twice.startswith("Error: old_string (1 line, 4 characters) is not in 'a.txt'")
    assert (tmp_path / "a.txt").read_text() == "1\n2\n"


@pytest.mark.contract("MA-47")
@pytest.mark.contract("MA-48")
@pytest.mark.contract("MA-49")
@pytest.mark.contract("MA-50")
def test_grep_and_glob_find(tmp_path, answers):
    (tmp_path / "a.go").write_text("one\nt.o\nthree\n")
    (tmp_path / "b.ts").write_text("two\n")
    assert answers(
        ("Grep", {"pattern": "t.o", "include": "*.go", "context": 1}),
        ("Grep", {"pattern": "t.o", "fixed_string": True}),
        ("Glob", {"pattern": "**/*.go"}),
    ) == [
        "1 line matches:\na.go-1- one\na.go:2: t.o\na.go-3- three",
        "1 line matches:\na.go:2: t.o",
        "1 file:\na.go",
    ]


@pytest.mark.contract("MA-57")
def test_files_are_moved_over_others_and_deleted(tmp_path, answers):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    moved, deleted = answers(
        ("FileMove", {"source": "a", "destination": "b"}), ("FileDelete", {"path": "b"})
    )
    assert moved.startswith("Moved: a -> b\n[replaced")
    assert deleted.startswith("File deleted: b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("MA-112")
@pytest.mark.parametrize("form", [{"path": "a"}, {"params": {"path": "a"}}])
def test_both_forms_of_arguments_give_the_same_call(dialect, form):
    translated = dialect.canonical(call("FileRead", **form))
    assert (translated.name, translated.arguments["path"]) == ("read_file", "a")


@pytest.mark.contract("MA-119")
def test_a_result_that_failed_says_so_in_its_text(dialect):
    failed = ToolResult("the disk is full", is_error=True, error_class="disk_full")
    assert dialect.render(call("FileWrite", path="a"), failed) == "Error: the disk is full"


def test_a_denied_call_is_told_and_did_not_run(tmp_path, answers):
    class NoDeleting:
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(Decision.DENY, "keep it") if call.name == "delete_file" else None

    (tmp_path / "a").touch()
    (text,) = answers(("FileDelete", {"path": "a"}), with_plugins={"no-deleting": NoDeleting()})
    assert text.startswith("Error: ")
    assert "keep it" in text
    assert (tmp_path / "a").exists()


def test_the_model_is_told_that_a_person_changed_its_call(answer_to_edited):
    note, rest, same = answer_to_edited("FileWrite", path="a.txt", content="model")
    assert note.startswith("[a person changed the arguments to {")
    assert "a person's" in note
    assert rest == same
