"""The reference's shapes and texts, played by a scripted model with the installed tools."""

import pytest
from nanocoder import (
    Decision,
    Denied,
    ToolCall,
    ToolResult,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_dialect_s02 import nanocoder_dialects
from nanocoder_dialect_s02.texts import SHOWN_CHARS


@pytest.mark.contract("LC-01")
@pytest.mark.contract("LC-17")
def test_the_model_is_told_of_the_tools_as_the_reference_tells_it(offers, golden):
    assert list(offers) == ["bash", "read_file", "write_file", "edit_file"]
    assert list(offers.values()) == golden("offers.json")


@pytest.mark.contract("LC-06")
def test_a_file_is_read_without_numbers(tmp_path, answers):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    assert answers(
        ("read_file", {"path": "a.txt"}),
        ("read_file", {"path": "a.txt", "limit": 2}),
        ("read_file", {"path": "a.txt", "limit": 9}),
        ("read_file", {"path": "none"}),
    ) == [
        "one\ntwo\nthree",
        "one\ntwo\n... (1 more lines)",
        "one\ntwo\nthree",
        "Error: there is no file 'none'",
    ]


@pytest.mark.contract("LC-06")
def test_a_long_file_is_cut(tmp_path, answers):
    (tmp_path / "a.txt").write_text("0123456789\n" * 6_000)
    (text,) = answers(("read_file", {"path": "a.txt"}))
    assert len(text) == SHOWN_CHARS
    assert text.startswith("0123456789\n0123456789\n")
    assert text.endswith("... (cut)")


@pytest.mark.contract("LC-07")
@pytest.mark.contract("LC-08")
def test_writing_and_editing_say_one_line(tmp_path, answers):
    assert answers(
        ("write_file", {"path": "new/a.txt", "content": "\u00e4 one\n"}),
        ("edit_file", {"path": "new/a.txt", "old_text": "one", "new_text": "two"}),
        ("edit_file", {"path": "new/a.txt", "old_text": "nothing like it", "new_text": "x"}),
    ) == [
        "Wrote 7 bytes to new/a.txt",
        "Edited new/a.txt",
        "Error: Text not found in new/a.txt",
    ]
    assert (tmp_path / "new/a.txt").read_text() == "\u00e4 two\n"


@pytest.mark.contract("LC-08")
def test_text_that_stands_twice_is_not_guessed_at(tmp_path, answers):
    (tmp_path / "a.txt").write_text("one\none\n")
    (text,) = answers(("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"}))
    assert text == "Error: Text found 2 times in a.txt; give more of what is around it"
    assert (tmp_path / "a.txt").read_text() == "one\none\n"


@pytest.mark.contract("LC-19")
@pytest.mark.parametrize("special", ["'", '"', "\\", "\\n", "$HOME", "&", "/", "a\nb", "\t", "`"])
def test_special_characters_survive_an_edit(tmp_path, answers, special):
    (tmp_path / "a.txt").write_text(f"<{special}>\n")
    answers(
        ("edit_file", {"path": "a.txt", "old_text": f"<{special}>", "new_text": f"[{special}&]"})
    )
    assert (tmp_path / "a.txt").read_text() == f"[{special}&]\n"


@pytest.mark.contract("LC-09")
def test_a_command_answers_with_both_streams(answers):
    assert answers(
        ("bash", {"command": "echo out; echo err >&2"}),
        ("bash", {"command": "echo bad; exit 3"}),
        ("bash", {"command": "true"}),
    ) == ["out\nerr", "bad", "(no output)"]


@pytest.mark.contract("LC-09")
def test_a_long_output_is_cut(answers):
    (text,) = answers(("bash", {"command": "yes | head -c 70000"}))
    assert len(text) == SHOWN_CHARS


@pytest.mark.contract("LC-09")
def test_a_command_that_takes_too_long_is_told_in_seconds():
    (dialect,) = nanocoder_dialects()
    call = dialect.canonical(_call("bash", command="sleep 200"))
    assert "timeout" not in call.arguments  # 120 s is the tool's own default
    late = ToolResult("", is_error=True, error_class="timeout", data={"stdout": "", "stderr": ""})
    assert dialect.render(_call("bash", command="sleep 200"), late) == "Error: Timeout (120s)"


@pytest.mark.contract("LC-09")
def test_a_limit_that_settings_lowered_is_told_as_it_was():
    (dialect,) = nanocoder_dialects()
    late = ToolResult("", is_error=True, error_class="timeout", data={"duration_s": 1.04})
    assert dialect.render(_call("bash", command="sleep 9"), late) == "Error: Timeout (1s)"


DANGEROUS = (
    "rm -rf /",
    "rm -fr / --no-preserve-root",
    "rm -f -r /*",
    "ls; rm --recursive --force /",
    "sudo ls",
    "ls && sudo ls",
    "echo $(sudo ls)",
    "shutdown -h now",
    "reboot",
    "echo x > /dev/sda",
)


@pytest.mark.contract("LC-09")
@pytest.mark.contract("LC-11")
@pytest.mark.parametrize("command", DANGEROUS)
def test_dangerous_commands_are_refused(command):
    # Not played: a mistake in the list must not cost anybody a disk.
    (dialect,) = nanocoder_dialects()
    with pytest.raises(Denied, match="Dangerous command blocked"):
        dialect.canonical(_call("bash", command=command))


@pytest.mark.contract("LC-11")
def test_a_refused_command_is_told_and_does_not_run(play_calls):
    run = play_calls(("bash", {"command": "sudo --version"}))
    assert [result.output for result in run.results] == ["Error: Dangerous command blocked"]
    assert "call.started" not in run.kinds()


@pytest.mark.parametrize(
    "command",
    ["echo rm -rf build", "ls > /dev/null", "echo sudo", "ls /dev 2>/dev/stderr", "cat reboot.md"],
)
def test_commands_that_only_look_dangerous_run(play_calls, command):
    assert "call.started" in play_calls(("bash", {"command": command})).kinds()


@pytest.mark.contract("LC-10")
def test_a_path_outside_is_a_result_and_the_loop_goes_on(tmp_path, play_calls):
    (tmp_path / "link").symlink_to("/etc")
    run = play_calls(
        ("read_file", {"path": "../x"}),
        ("write_file", {"path": "link/x", "content": ""}),
        ("edit_file", {"path": "/etc/passwd", "old_text": "a", "new_text": "b"}),
    )
    assert [result.output for result in run.results] == [
        "Error: Path escapes workspace: ../x",
        "Error: Path escapes workspace: link/x",
        "Error: Path escapes workspace: /etc/passwd",
    ]
    assert run.text == "Done."


@pytest.mark.contract("LC-16")
def test_an_unknown_name_is_a_result_and_the_loop_goes_on(play_calls):
    run = play_calls(("grep", {"pattern": "x"}), ("bash", {"command": "echo on"}))
    assert [result.output for result in run.results] == ["Unknown tool: grep", "on"]
    assert run.text == "Done."


@pytest.mark.contract("LC-04")
def test_a_tool_plugin_that_the_reference_does_not_know_is_not_offered(play_calls):
    class More:
        @hookimpl
        def nanocoder_tools(self):
            return [tool(description="Do nothing.")(nothing)]

    run = play_calls(("nothing", {}), with_plugins={"more": More()})
    assert "nothing" not in [entry.name for entry in run.model.requests[0].tools]
    assert [entry.output for entry in run.results] == ["Unknown tool: nothing"]


def test_a_denied_call_is_told_and_did_not_run(tmp_path, answers):
    class NoWriting:
        @hookimpl
        def nanocoder_before_execute(self, call):
            denied = call.arguments.get("old_string") == "secret"
            return Verdict(Decision.DENY, "no writing") if denied else None

    (tmp_path / "a.txt").write_text("secret")
    call = ("edit_file", {"path": "a.txt", "old_text": "secret", "new_text": ""})
    (text,) = answers(call, with_plugins={"no-writing": NoWriting()})
    assert text.startswith("Error: ")
    assert "no writing" in text
    assert (tmp_path / "a.txt").read_text() == "secret"


def nothing() -> str:
    return ""


def _call(name, **arguments):
    return ToolCall("1", name, arguments)


def test_the_model_is_told_that_a_person_changed_its_call(answer_to_edited):
    note, rest, same = answer_to_edited("write_file", path="a.txt", content="model")
    assert note.startswith("[a person changed the arguments to {")
    assert "a person's" in note
    assert rest == same
