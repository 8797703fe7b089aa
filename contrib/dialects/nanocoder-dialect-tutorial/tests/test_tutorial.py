"""The reference's shapes and texts, played by a scripted model with the installed tools."""

import pytest
from nanocoder import ApprovalAnswer, Decision, Verdict, hookimpl


@pytest.mark.contract("NT-01")
@pytest.mark.contract("NT-02")
@pytest.mark.contract("NT-24")
@pytest.mark.contract("NT-33")
def test_the_model_is_told_of_the_tools_as_the_reference_tells_it(offers, golden):
    assert list(offers) == ["read_file", "write_file", "bash", "search"]
    assert list(offers.values()) == golden("offers.json")


@pytest.mark.contract("NT-04")
def test_write_file_says_what_to_do_before(offers):
    words = offers["write_file"]["function"]["description"].lower()
    assert all(word in words for word in ("create", "overwrite", "read it first", "plan"))


@pytest.mark.contract("NT-12")
@pytest.mark.contract("NT-13")
def test_lines_come_with_their_absolute_numbers(tmp_path, answers):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")
    assert answers(
        ("read_file", {"path": "a.txt"}),
        ("read_file", {"path": str(tmp_path / "a.txt"), "offset": 2, "limit": 1}),
    ) == ["1\tone\n2\ttwo\n3\tthree", "2\ttwo"]


@pytest.mark.contract("NT-12")
def test_without_a_limit_all_lines_come(tmp_path, answers):
    (tmp_path / "a.txt").write_text("x\n" * 3_000)
    (text,) = answers(("read_file", {"path": "a.txt"}))
    assert text.endswith("3000\tx")


@pytest.mark.contract("NT-15b")
def test_what_cannot_be_read_is_said_in_one_line(tmp_path, answers):
    (tmp_path / "empty").touch()
    (tmp_path / "crlf").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    (tmp_path / "folder").mkdir()
    assert answers(
        ("read_file", {"path": "empty"}),
        ("read_file", {"path": "crlf"}),
        ("read_file", {"path": "crlf", "offset": 3}),
        ("read_file", {"path": "crlf", "limit": 0}),
    ) == [
        "[the file is empty]",
        "1\ta\n2\tb",
        "Error reading crlf: offset 3 is past the end: 'crlf' has 2 lines",
        "1\ta\n2\tb",
    ]
    folder, zero = answers(
        ("read_file", {"path": "folder"}), ("read_file", {"path": "crlf", "offset": 0})
    )
    assert folder.startswith("Error reading folder: 'folder' is a directory")
    assert zero.startswith("Error reading crlf: offset: ")


@pytest.mark.contract("NT-11")
@pytest.mark.contract("NT-17")
def test_outside_is_refused_in_the_words_of_the_reference(answers):
    assert answers(
        ("read_file", {"path": "../secret"}),
        ("write_file", {"path": "/etc/motd", "content": "x"}),
    ) == [
        "Error: Cannot read files outside the working directory",
        "Error: Cannot write files outside the working directory",
    ]


@pytest.mark.contract("NT-14")
@pytest.mark.contract("NT-22")
def test_a_failure_names_the_path_and_the_reason(tmp_path, answers):
    (tmp_path / "folder").mkdir()
    read, write = answers(
        ("read_file", {"path": "none.txt"}), ("write_file", {"path": "folder", "content": "x"})
    )
    assert read == "Error reading none.txt: there is no file 'none.txt'"
    assert write.startswith("Error writing folder: 'folder' is a directory")


@pytest.mark.contract("NT-20")
@pytest.mark.contract("NT-21")
def test_a_write_says_what_it_did(tmp_path, answers):
    created, updated = answers(
        ("write_file", {"path": "new/a.txt", "content": "\u00e4\n"}),
        ("write_file", {"path": "new/a.txt", "content": "b\n"}),
    )
    assert created == "File created: new/a.txt (3 bytes)"
    assert updated.startswith("File updated: new/a.txt\n\nDiff:\n")
    assert "-\u00e4\n+b" in updated


@pytest.mark.contract("NT-28")
@pytest.mark.contract("NT-30")
@pytest.mark.contract("NT-31")
def test_a_command_answers_as_in_the_reference(answers):
    assert answers(
        ("bash", {"command": "echo out; echo err >&2"}),
        ("bash", {"command": "true"}),
        ("bash", {"command": "echo nothing to see; echo bad >&2; exit 3"}),
        ("bash", {"command": "echo only this; exit 1"}),
    ) == [
        "out\n\nSTDERR:\nerr\n",
        "(no output)",
        "Command failed (exit code 3):\nbad\n",
        "Command failed (exit code 1):\nonly this\n",
    ]


@pytest.mark.contract("NT-24")
@pytest.mark.contract("NT-31")
def test_the_limit_of_a_command_is_in_milliseconds(answers):
    (text,) = answers(("bash", {"command": "echo first; sleep 9", "timeout": 300}))
    assert text == "Command timed out after 300 ms:\nfirst\n"


@pytest.mark.contract("NT-29")
def test_ten_thousand_characters_are_shown_whole(answers):
    (text,) = answers(("bash", {"command": "printf 'a%.0s' $(seq 10000)"}))
    assert text == "a" * 10_000


@pytest.mark.contract("NT-29")
def test_of_a_long_output_head_and_tail_are_shown(answers):
    (text,) = answers(
        ("bash", {"command": "printf 'a%.0s' $(seq 9000); printf 'b%.0s' $(seq 9000)"})
    )
    assert text == "a" * 5_000 + "\n... (truncated) ...\n" + "b" * 2_000


@pytest.mark.contract("NT-26")
def test_more_than_a_megabyte_is_said(answers):
    (text,) = answers(("bash", {"command": "yes | head -c 1100000"}))
    assert text.startswith("y\ny\n")
    assert "the command printed more than 1 MB" in text


@pytest.mark.contract("NT-33")
@pytest.mark.contract("NT-34")
@pytest.mark.contract("NT-35")
def test_a_search_shows_five_lines_of_a_file_at_most(tmp_path, answers):
    (tmp_path / "a.ts").write_text("  needle\n" * 7)
    (tmp_path / "b.ts").write_text("needle b\n")
    (tmp_path / "c.md").write_text("needle c\n")
    everywhere, typescript, few = answers(
        ("search", {"pattern": "need.e"}),
        ("search", {"pattern": "needle", "glob": "*.ts"}),
        ("search", {"pattern": "needle", "maxResults": 2}),
    )
    first = [f"a.ts:{number}: needle" for number in range(1, 6)]
    assert everywhere.split("\n") == [*first, "b.ts:1: needle b", "c.md:1: needle c"]
    assert typescript.split("\n") == [*first, "b.ts:1: needle b"]
    assert few.split("\n") == first[:2]


@pytest.mark.contract("NT-34")
def test_a_file_with_thousands_of_matches_hides_no_other_unsaid(tmp_path, answers):
    (tmp_path / "a.ts").write_text("needle\n" * 4_000)
    (tmp_path / "b.ts").write_text("needle b\n")
    (text,) = answers(("search", {"pattern": "needle"}))
    assert text.split("\n")[5:] == ["b.ts:1: needle b"]
    (tmp_path / "a.ts").write_text("needle\n" * 11_000)
    (text,) = answers(("search", {"pattern": "needle"}))
    assert text.endswith("\n[not everything was searched; narrow it with path or glob]")


@pytest.mark.contract("NT-36")
@pytest.mark.contract("NT-37")
def test_a_search_that_finds_nothing_differs_from_one_that_failed(answers):
    none, dash, bad, missing = answers(
        ("search", {"pattern": "nothing"}),
        ("search", {"pattern": "--help"}),
        ("search", {"pattern": "(unclosed"}),
        ("search", {"pattern": "x", "path": "missing"}),
    )
    assert none == "No matches found for pattern: nothing"
    assert dash == "No matches found for pattern: --help"
    assert bad.startswith("Error: '(unclosed' is not a regular expression")
    assert missing.startswith("Error: there is no file 'missing'")


@pytest.mark.contract("NT-07")
@pytest.mark.parametrize("name", ["grep", "edit_file", "rm"])
def test_a_name_that_the_reference_does_not_have_is_unknown(answers, name):
    assert answers((name, {"path": "a"})) == [f"Unknown tool: {name}"]


def test_a_denied_call_is_told_and_did_not_run(tmp_path, answers):
    class NoShell:
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(Decision.DENY, "no shell") if call.name == "bash" else None

    (text,) = answers(("bash", {"command": "touch x"}), with_plugins={"no-shell": NoShell()})
    assert text.startswith("Error: ")
    assert "no shell" in text
    assert not (tmp_path / "x").exists()


@pytest.mark.contract("NT-16")
def test_arguments_that_do_not_fit_are_named(answers):
    many, read, write = answers(
        ("search", {"pattern": "x", "maxResults": "many"}),
        ("read_file", {}),
        ("write_file", {"content": "x"}),
    )
    assert many.startswith("Error: maxResults: ")
    assert read == write == "Error: path: required, but missing"


@pytest.mark.contract("NT-15")
@pytest.mark.contract("NT-23")
@pytest.mark.contract("NT-32")
@pytest.mark.contract("NT-38")
def test_writing_and_commands_want_approval_and_reading_does_not(tmp_path, play_calls):
    (tmp_path / "a.txt").write_text("one\n")
    requests = []

    def approve(request):
        requests.append((request.call.name, request.preview))
        return ApprovalAnswer(request.id, request.digest, approved=False, reason="not today")

    run = play_calls(
        ("read_file", {"path": "a.txt"}),
        ("search", {"pattern": "one"}),
        ("write_file", {"path": "a.txt", "content": "two\n"}),
        ("bash", {"command": "rm a.txt"}),
        mode="ask",
        environment={"HOME": "/nonexistent", "NANOCODER_SANDBOX": "none"},
        interactive=True,
        approve=approve,
    )
    assert [name for name, _ in requests] == ["write_file", "bash"]
    assert "-one\n+two" in requests[0][1]
    read, search, write, command = (result.output for result in run.results)
    assert (read, search) == ("1\tone", "a.txt:1: one")
    assert write.startswith("Error writing a.txt: ")
    assert command.startswith("Error: ")
    assert all("not today" in text for text in (write, command))
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_the_model_is_told_that_a_person_changed_its_call(answer_to_edited):
    note, rest, same = answer_to_edited("write_file", path="a.txt", content="model")
    assert note.startswith("[a person changed the arguments to {")
    assert "a person's" in note
    assert rest == same
