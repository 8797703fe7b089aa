"""Lines that browsers send: commands, shell commands, files, and what completes them."""

import json

import pytest

pytestmark = [pytest.mark.contract("D5"), pytest.mark.timeout(90)]

HI = {"text": "Hello there."}
WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}


@pytest.fixture
def talk(web):
    """Return what starts the command, logged in, and types lines into it."""

    def start(*turns, words=()):
        server = web(*turns, words=words)
        server.login()
        server.last = 0

        def typed(text, kind, pasted=()):
            """Send a line; return the entries that follow, up to the first of *kind*."""
            response = server.post("prompt", text=text, pasted=list(pasted))
            assert response.status_code == 200, response.text
            return after(kind)

        def after(kind):
            entries = server.until(kind, server.last)
            server.last = entries[-1]["number"]
            return entries

        server.typed, server.after = typed, after
        server.after("state")
        return server

    return start


def prompts(nanocoder):
    """Return the messages to the model, in order."""
    (file,) = nanocoder.home.rglob("sessions/*.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    messages = [record["data"] for record in records if record["kind"] == "message"]
    return [message["text"] for message in messages if message["role"] == "user"]


def notices(entries):
    return [entry["text"] for entry in entries if entry["kind"] == "notice"]


@pytest.mark.contract("N3")
@pytest.mark.full
def test_help_is_a_table_of_commands_and_keys_and_the_line_is_shown(talk):
    entries = talk(HI).typed("/help", "table")
    assert [entry["text"] for entry in entries if entry["kind"] == "prompt"] == ["/help"]
    rows = entries[-1]["rows"]
    assert ["/model [P/M]", "show or change the model"] in rows
    assert any(row[0] == "Shift-Enter" for row in rows)
    assert not any("Ctrl-O" in row[0] for row in rows), "keys of the terminal mean nothing here"


@pytest.mark.contract("N3")
@pytest.mark.full
def test_an_unknown_command_names_the_nearest_and_no_model_reads_it(talk, nanocoder):
    server = talk(HI)
    [text] = notices(server.typed("/hlep", "notice"))
    assert "did you mean '/help'?" in text
    server.typed("hi", "finished")
    assert prompts(nanocoder) == ["hi"]


@pytest.mark.contract("N3")
@pytest.mark.full
@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_a_command_of_the_person_runs_unasked_and_the_model_reads_it_later(talk, nanocoder, mode):
    server = talk(HI, words=("--mode", mode))
    entries = server.typed("!touch made; echo out$((40+2))", "state")
    while not (calls := [each for each in entries if each.get("is_open")]):
        entries = server.after("state")
    assert "out42" in calls[0]["html"]
    assert (nanocoder.cwd / "made").exists()
    server.typed("what happened?", "finished")
    [prompt] = prompts(nanocoder)
    assert prompt.startswith("The user ran this command by themselves:\n<user-command>\n$ touch")
    assert prompt.endswith("what happened?")


@pytest.mark.contract("N3")
def test_rules_hold_for_what_is_typed_and_a_pasted_line_runs_nothing(talk, nanocoder):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["bash(touch *)"]\n')
    server = talk(HI)
    [text] = notices(server.typed("!echo pasted", "notice", pasted=["!echo pasted"]))
    assert "A pasted ! runs nothing" in text
    entries = server.typed("!touch made", "state")
    while not any(each["kind"] == "call" for each in entries):
        entries = server.after("state")
    assert "denied" in " ".join(each.get("html", "") for each in entries), entries
    assert not any("It ran" in text for text in notices(entries))
    assert not (nanocoder.cwd / "made").exists()


@pytest.mark.full
def test_lines_of_a_file_go_with_the_prompt_and_a_pasted_name_does_not(talk, nanocoder):
    (nanocoder.cwd / "a.txt").write_text("one\ntwo\nthree\n")
    server = talk(HI, HI)
    entries = server.typed("See @a.txt:2-3", "finished")
    kinds = [entry["kind"] for entry in entries]
    assert kinds.index("prompt") < kinds.index("call") < kinds.index("answer")
    assert kinds.count("prompt") == 1
    server.typed("See @a.txt", "finished", pasted=["@a.txt"])
    first, second = prompts(nanocoder)
    assert "File a.txt, lines 2-3:" in first
    assert "one" not in first
    assert second == "See @a.txt"
    wrong = server.post("prompt", text="x", pasted="x")
    assert (wrong.status_code, wrong.json()["error"]) == (400, "'pasted' is no list of texts")


@pytest.mark.contract("H3")
@pytest.mark.full
def test_a_command_from_a_file_is_sent_with_what_was_typed(talk, nanocoder):
    folder = nanocoder.cwd / ".nanocoder/commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("---\ndescription: review it\n---\nReview $1 well.\n")
    (folder / "help.md").write_text("Mine.\n")
    server = talk(HI)
    assert any("/help is built in" in text for text in notices(server.after("notice")))
    entries = server.typed("/review main.py", "finished")
    assert [each["text"] for each in entries if each["kind"] == "prompt"] == ["/review main.py"]
    assert prompts(nanocoder) == ["Review main.py well."]


@pytest.mark.contract("G3")
@pytest.mark.full
def test_an_undo_shows_the_change_and_asks_every_browser(talk, nanocoder):
    server = talk({"calls": [WRITE]}, HI, words=("--mode", "edits"))
    server.typed("Write it", "finished")
    entries = server.typed("/undo", "question")
    assert "a.txt" in next(each for each in entries if each["kind"] == "block")["html"]
    question = entries[-1]
    assert (question["text"], question["choices"]) == ("Make these changes?", ["Yes", "No"])
    server.post("answer", question=question["question"], text="No")
    assert notices(server.after("notice")) == ["Nothing was changed."]
    assert (nanocoder.cwd / "a.txt").exists()
    question = server.typed("/undo", "question")[-1]
    server.post("answer", question=question["question"], text="Yes")
    told = notices(server.after("notice"))
    while told[-1] != "Done. /redo reverts this.":
        told += notices(server.after("notice"))
    assert "removed a.txt" in told
    assert not (nanocoder.cwd / "a.txt").exists()


@pytest.mark.full
def test_stop_ends_the_question_of_a_command(talk, nanocoder):
    server = talk({"calls": [WRITE]}, HI, words=("--mode", "edits"))
    server.typed("Write it", "finished")
    server.typed("/undo", "question")
    assert server.post("stop").status_code == 200
    assert notices(server.after("notice")) == ["Nothing was changed."]
    assert (nanocoder.cwd / "a.txt").exists()


@pytest.mark.contract("G3")
@pytest.mark.full
def test_a_rewound_conversation_is_shown_anew_and_its_prompt_can_be_edited(talk):
    server = talk(HI, {"text": "And on."})
    server.typed("first", "finished")
    server.typed("second", "finished")
    question = server.typed("/rewind", "question")[-1]
    assert question["choices"] == ["1. first (just now)", "2. second (just now)", "None of these"]
    server.post("answer", question=question["question"], text=question["choices"][1])
    assert server.after("begin")[-1]["text"] == "second"
    late = server.until("begin")
    shown = [each["text"] for each in late if each["kind"] == "prompt"]
    assert shown == ["first"], "a browser that comes late sees the same"


@pytest.mark.full
def test_another_session_takes_the_place_of_this_one(talk):
    server = talk(HI, {"text": "And on."})
    server.typed("first words", "finished")
    entries = server.typed("/clear", "cleared")
    fresh = server.after("state")[-1]["session"]
    assert [each["kind"] for each in server.until("state")] == ["cleared", "state"]
    entries = server.typed("/resume 1", "answer")
    # What stood there before, the command too, may be gone before the browser asks for it.
    cleared = [each["kind"] for each in entries].index("cleared")
    texts = [each["text"] for each in entries[cleared:] if each["kind"] == "prompt"]
    assert texts == ["first words"]
    assert server.after("state")[-1]["session"] != fresh
    server.typed("more", "finished")


@pytest.mark.full
def test_a_session_that_cannot_be_opened_leaves_this_one_open(talk, nanocoder):
    server = talk(HI, HI)
    server.typed("first words", "finished")
    server.typed("/clear", "cleared")
    server.after("state")
    journals = nanocoder.home.rglob("sessions/*.jsonl")
    (journal,) = [path for path in journals if "first words" in path.read_text()]
    server.typed("/resume", "table")
    journal.unlink()
    server.typed("/resume 1", "notice")
    server.typed("hi", "finished")


@pytest.mark.full
def test_a_browser_cannot_end_the_program(talk):
    server = talk(HI)
    [text] = notices(server.typed("/exit", "notice"))
    assert "close this tab" in text
    server.typed("hi", "finished")
    assert server.leave() == 0


@pytest.mark.full
def test_a_command_waits_for_the_run_and_does_not_reach_the_model(talk, nanocoder):
    server = talk({"calls": [WRITE]}, HI)
    question = server.typed("Write a file", "question")[-1]
    [text] = notices(server.typed("/cost", "notice"))
    assert text == "After what runs now: /cost"
    answer = {"question": question["question"], "digest": question["digest"], "approved": True}
    server.post("answer", **answer)
    kinds = [entry["kind"] for entry in server.after("table")]
    assert "finished" in kinds
    assert prompts(nanocoder)[0] == "Write a file"
    assert "/cost" not in "".join(prompts(nanocoder))


@pytest.mark.full
@pytest.mark.parametrize(
    ("before", "text", "length"),
    [
        ("/com", "/compact", 4),
        ("/mode ed", "edits", 2),
        ("see @today", '@"notes of today.md"', 6),
        ("/rev", "/review", 4),
    ],
)
def test_commands_arguments_and_files_are_completed(talk, nanocoder, before, text, length):
    (nanocoder.cwd / "notes of today.md").write_text("x\n")
    folder = nanocoder.cwd / ".nanocoder/commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review it.\n")
    response = talk(HI).post("complete", text=before)
    suggestions = response.json()["suggestions"]
    assert [each["text"] for each in suggestions] == [text]
    [suggestion] = suggestions
    assert (suggestion["text"], suggestion["length"]) == (text, length)
    assert suggestion["label"]


@pytest.mark.full
def test_a_passing_notice_is_shown_until_it_is_over_and_a_late_browser_never_sees_it(talk):
    server = talk({"progress": "reading the prompt, 34 %", "delay_s": 60, "text": "Late."})
    passing = server.typed("hi", "passing")[-1]
    assert passing["text"] == "reading the prompt, 34 %"
    assert server.post("stop").status_code == 200
    assert server.after("passing")[-1]["text"] == ""
    server.after("finished")
    late = [entry["text"] for entry in server.until("finished") if entry["kind"] == "passing"]
    assert late == [""]
