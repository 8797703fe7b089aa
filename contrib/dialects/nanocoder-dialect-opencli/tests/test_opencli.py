"""The reference's shapes and texts, played by a scripted model with the installed tools."""

import json
from typing import Annotated

import pytest
from nanocoder import ApprovalAnswer, Decision, Effect, ToolResult, Verdict, hookimpl, tool
from nanocoder_dialect_opencli import nanocoder_dialects

SHAPED = ("read", "write", "edit", "bash")


class AtomicEdit:
    """A plugin with the composed tool of the reference."""

    @hookimpl
    def nanocoder_tools(self):
        return [atomic_edit]


@tool(
    effects={Effect.READ, Effect.WRITE},
    composed_of=("read_file", "edit_file"),
    single_confirmation=True,
)
def atomic_edit(
    ctx,
    file_path: Annotated[str, "The file."],
    old_string: Annotated[str, "The text."],
    new_string: Annotated[str, "What replaces it."],
) -> ToolResult:
    """Read a file and edit it."""
    read = ctx.call("read_file", {"path": file_path})
    if read.is_error:
        return read
    arguments = {"path": file_path, "old_string": old_string, "new_string": new_string}
    return ctx.call("edit_file", arguments)


def test_the_model_is_told_of_the_tools_with_the_fields_of_the_reference(offers, golden):
    assert {name: offers[name] for name in SHAPED} == golden("offers.json")


@pytest.mark.contract("CO-04")
@pytest.mark.contract("CO-05")
@pytest.mark.contract("CO-06")
@pytest.mark.contract("CO-15")
def test_atomic_is_one_confirmation_for_the_whole():
    (dialect,) = nanocoder_dialects()
    (offer,) = dialect.offer([atomic_edit])
    fields = ("readonly", "requires_confirmation", "composed_of", "atomic")
    assert [offer[field] for field in fields] == [False, True, ["read", "edit"], True]


@pytest.mark.contract("CO-12")
@pytest.mark.contract("CO-14")
@pytest.mark.contract("CO-15")
def test_a_composed_edit_asks_once(tmp_path, answers):
    requests = []

    def approve(request):
        requests.append(request.call.name)
        return ApprovalAnswer(request.id, request.digest, approved=True)

    (tmp_path / "a.txt").write_text("one\n")
    arguments = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    (text,) = answers(
        ("atomic_edit", arguments),
        mode="ask",
        approve=approve,
        interactive=True,
        with_plugins={"atomic": AtomicEdit()},
        without="atomic_edit",
    )
    assert requests == ["atomic_edit"], text
    assert text.startswith("Edited a.txt: 1 place")
    assert (tmp_path / "a.txt").read_text() == "two\n"


def test_files_are_read_written_and_edited(answers):
    assert answers(
        ("write", {"file_path": "a.txt", "content": "one\n"}),
        ("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
        ("read", {"file_path": "a.txt"}),
    ) == ["File created: a.txt (4 bytes)", "Edited a.txt: 1 place, line 1", "1\ttwo"]


@pytest.mark.contract("CO-24")
def test_a_failure_is_an_object(answers):
    texts = answers(
        ("read", {"file_path": "none"}),
        ("read", {"path": "none"}),
        ("bash", {"command": "echo bad; exit 3"}),
        ('a "grep"', {"pattern": "x"}),
    )
    missing, mismatch, command, unknown = map(json.loads, texts)
    assert missing == {"success": False, "error": "there is no file 'none'"}
    assert "file_path" in mismatch["error"]
    assert command == {"success": False, "error": "exit code 3", "output": "bad"}
    assert unknown == {"success": False, "error": 'unknown tool: a "grep"'}


def test_of_a_long_output_three_tenths_are_from_its_beginning(answers):
    (text,) = answers(
        ("bash", {"command": "printf 'a%.0s' $(seq 9999); printf 'b%.0s' $(seq 20000)"})
    )
    assert text.startswith("a" * 6_000 + "\n[")
    assert text.endswith("]\n" + "b" * 14_000)


def test_a_denied_call_is_told_and_did_not_run(tmp_path, answers):
    class NoShell:
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(Decision.DENY, "no shell") if call.name == "bash" else None

    (text,) = answers(("bash", {"command": "touch x"}), with_plugins={"no-shell": NoShell()})
    assert "no shell" in json.loads(text)["error"]
    assert not (tmp_path / "x").exists()


def test_the_model_is_told_that_a_person_changed_its_call(answer_to_edited):
    note, rest, same = answer_to_edited("write", file_path="a.txt", content="model")
    assert note.startswith("[a person changed the arguments to {")
    assert "a person's" in note
    assert rest == same
