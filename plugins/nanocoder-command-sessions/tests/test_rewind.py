"""`nanocoder sessions rewind` and `fork --at`, as processes on real journals."""

import json

import pytest

pytestmark = pytest.mark.timeout(60)
PROMPTS = ("Write one", "Write two", "Write three")


def write(content):
    arguments = {"path": "notes.txt", "content": f"{content}\n"}
    return {"calls": [{"name": "write_file", "arguments": arguments}]}


@pytest.fixture
def talk(nanocoder):
    """A session of three prompts, each of which writes the file anew."""
    turns = [part for word in ("one", "two", "three") for part in (write(word), {"text": word})]
    for number, prompt in enumerate(PROMPTS):
        model = nanocoder.script(*turns)
        more = ["--continue"] if number else []
        done = nanocoder("run", "--mode", "edits", "--model", model, *more, prompt)
        assert done.returncode == 0, done.stderr
    return nanocoder


def prompts(nanocoder, *words):
    shown = json.loads(nanocoder("sessions", "show", *words, "--output", "json").stdout)
    return [(one["prompt"], one["text"]) for one in shown["messages"] if "prompt" in one]


def notes(nanocoder):
    path = nanocoder.cwd / "notes.txt"
    return path.read_text() if path.exists() else None


def journal(nanocoder):
    (path,) = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")
    return path


def test_prompts_are_shown_with_their_numbers(talk):
    shown = talk("sessions", "show").stdout
    assert [line for line in shown.splitlines() if line.startswith("user")] == [
        "user 1: Write one",
        "user 2: Write two",
        "user 3: Write three",
    ]
    assert prompts(talk) == [*enumerate(PROMPTS, 1)]


@pytest.mark.contract("G3")
@pytest.mark.parametrize(
    ("words", "left", "content"),
    [
        ([], PROMPTS[:1], "one\n"),
        (["--conversation"], PROMPTS[:1], "three\n"),
        (["--files"], PROMPTS, "one\n"),
    ],
)
def test_conversation_and_files_go_back_together_or_apart(talk, words, left, content):
    before = journal(talk).read_bytes()
    done = talk("sessions", "rewind", "last", "--to", "2", "--yes", *words)
    assert done.returncode == 0, done.stderr
    assert "to before prompt 2: Write two" in done.stdout
    assert prompts(talk) == [*enumerate(left, 1)]
    assert notes(talk) == content
    assert journal(talk).read_bytes().startswith(before), "nothing that was said is lost"


@pytest.mark.contract("G3")
def test_rewound_files_can_be_brought_back(talk):
    done = talk("sessions", "rewind", "--to", "1", "--yes")
    assert notes(talk) is None
    assert "sessions undo" in done.stderr
    assert "--redo" in done.stderr
    assert prompts(talk) == []
    done = talk("sessions", "undo", "--redo", "--yes")
    assert (done.returncode, notes(talk)) == (0, "three\n")


def test_a_rewound_session_goes_on_from_there_and_can_be_rewound_again(talk):
    talk("sessions", "rewind", "--to", "2", "--yes")
    model = talk.script(write("one"), {"text": "one"}, write("else"), {"text": "Other."})
    talk("run", "--mode", "edits", "--continue", "--model", model, "Write something else")
    assert prompts(talk) == [(1, "Write one"), (2, "Write something else")]
    assert notes(talk) == "else\n"
    assert talk("sessions", "rewind", "--to", "2", "--yes").returncode == 0
    assert (prompts(talk), notes(talk)) == ([(1, "Write one")], "one\n")


def test_the_model_is_told_which_files_are_newer_than_the_conversation(talk):
    talk("sessions", "rewind", "--to", "2", "--conversation")
    shown = talk("sessions", "show").stdout
    assert "added for the model: [the user went back to this point" in shown
    assert "notes.txt]" in shown


def test_a_file_that_was_changed_since_is_left_alone(talk):
    (talk.cwd / "notes.txt").write_text("mine\n")
    done = talk("sessions", "rewind", "--to", "2", "--yes")
    assert (done.returncode, notes(talk)) == (1, "mine\n")
    assert "notes.txt has been changed since" in done.stderr
    assert len(prompts(talk)) == 3
    done = talk("sessions", "rewind", "--to", "2", "--yes", "--force")
    assert (done.returncode, notes(talk)) == (0, "one\n")


def test_without_a_terminal_or_yes_nothing_changes(talk):
    before = journal(talk).read_bytes()
    done = talk("sessions", "rewind", "--to", "2")
    assert (done.returncode, notes(talk)) == (3, "three\n")
    assert "Pass --yes" in done.stderr
    assert len(prompts(talk)) == 3
    assert b"transcript.rewound" not in journal(talk).read_bytes().removeprefix(before)


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "name the prompt to go back to: --to N"),
        (["--to", "0"], "--to 0: prompts are numbered from 1"),
        (["--to", "4"], "there is no prompt 4: this session has 3 prompts"),
        (["--to", "x"], "x"),
        (["--to", "2", "--files", "--conversation"], "not allowed with"),
    ],
)
def test_what_cannot_be_meant_is_refused(talk, words, problem):
    before = journal(talk).read_bytes()
    done = talk("sessions", "rewind", "last", *words)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr
    assert journal(talk).read_bytes() == before


@pytest.mark.contract("G2")
def test_a_fork_begins_with_what_came_before_a_prompt(talk):
    origin = journal(talk).stem
    forked = talk("sessions", "fork", "--at", "3").stdout.strip()
    assert prompts(talk, forked) == [*enumerate(PROMPTS[:2], 1)]
    assert len(prompts(talk, origin)) == 3
    model = talk.script(*[{"text": "Forked."}] * 9)
    talk("run", "--session", forked, "--model", model, "On")
    again = talk("sessions", "fork", forked, "--at", "3").stdout.strip()
    assert prompts(talk, again) == prompts(talk, forked)[:2]


@pytest.mark.contract("G2")
@pytest.mark.parametrize(
    ("place", "last"),
    [("2.1", ("tool", None)), ("2.2", ("assistant", "two")), ("3.2", ("assistant", "three"))],
)
def test_a_fork_begins_after_any_reply_with_the_results_of_its_calls(talk, place, last):
    forked = talk("sessions", "fork", "--at", place).stdout.strip()
    messages = json.loads(talk("sessions", "show", forked, "--output", "json").stdout)["messages"]
    assert len(prompts(talk, forked)) == int(place[0])
    assert (messages[-1]["role"], messages[-1].get("text")) == last
    assert f"at {place}: " in talk("sessions", "list", "--tree").stdout
    model = talk.script(*[{"text": "Forked."}] * 9)
    assert talk("run", "--session", forked, "--model", model, "On").stdout == "Forked.\n"


@pytest.mark.contract("G2")
@pytest.mark.rows(3)
@pytest.mark.parametrize("number", ["0", "4", "-1", "2.3", "2.0", "4.1", "x"])
def test_a_fork_at_no_prompt_is_refused(talk, number):
    done = talk("sessions", "fork", "last", "--at", number)
    assert (done.returncode, done.stdout) == (2, "")
    assert "prompt" in done.stderr
    assert journal(talk)


@pytest.mark.contract("G3")
def test_a_rewind_goes_behind_a_compaction_and_brings_the_messages_back(talk):
    from nanocoder import Message, encode_message
    from nanocoder_kit_sessions import SessionStore

    store = SessionStore(talk.home / ".local/state/nanocoder")
    _, kept = store.open(journal(talk).stem)
    kept.append("transcript.compacted", {"messages": [encode_message(Message("user", "short"))]})
    kept.close()
    assert prompts(talk) == [*enumerate(PROMPTS, 1)]
    assert talk("sessions", "rewind", "--to", "3", "--conversation").returncode == 0
    assert prompts(talk) == [*enumerate(PROMPTS[:2], 1)]


@pytest.mark.contract("G3")
@pytest.mark.contract("G4")
def test_what_a_command_changed_goes_back_too(nanocoder):
    (nanocoder.cwd / "notes.txt").write_text("mine\n")
    bash = {"calls": [{"name": "bash", "arguments": {"command": "echo two > notes.txt"}}]}
    done = nanocoder(
        "run", "--mode", "auto", "--model", nanocoder.script(bash, {"text": "Done."}), "Go"
    )
    assert (done.returncode, notes(nanocoder)) == (0, "two\n"), done.stderr
    done = nanocoder("sessions", "rewind", "--to", "1", "--yes")
    assert (done.returncode, notes(nanocoder)) == (0, "mine\n"), done.stderr


@pytest.mark.contract("G3")
def test_a_fork_leaves_the_files_of_its_origin_and_names_that_session(talk):
    origin = journal(talk).stem
    forked = talk("sessions", "fork").stdout.strip()
    done = talk("sessions", "rewind", forked, "--to", "1", "--yes")
    assert done.stdout.splitlines()[-1] == "Rewound the conversation to before prompt 1: Write one"
    assert f"sessions undo {origin}" in done.stderr
    assert notes(talk) == "three\n"
    model = talk.script(write("four"), {"text": "four"})
    talk("run", "--mode", "edits", "--session", forked, "--model", model, "Write four")
    done = talk("sessions", "rewind", forked, "--to", "1", "--yes")
    assert "Rewound the conversation and files to before prompt 1" in done.stdout
    assert (notes(talk), origin in done.stderr) == ("three\n", False)


@pytest.mark.contract("G3")
def test_the_last_line_names_the_files_that_did_not_go_back(talk):
    arguments = {"path": "more.txt", "content": "more\n"}
    call = {"calls": [{"name": "write_file", "arguments": arguments}]}
    model = talk.script(*[{"text": "Before."}] * 6, call, {"text": "More."})
    talk("run", "--mode", "edits", "--continue", "--model", model, "Write more")
    (talk.cwd / "notes.txt").write_text("mine\n")
    done = talk("sessions", "rewind", "--to", "1", "--yes")
    assert done.returncode == 0, done.stderr
    assert "left as it is: notes.txt has been changed since" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert (
        last
        == "Rewound the conversation and files (except notes.txt) to before prompt 1: Write one"
    )
    assert (notes(talk), (talk.cwd / "more.txt").exists()) == ("mine\n", False)


def test_an_export_in_two_formats_is_refused(talk):
    done = talk("sessions", "export", "last", "--format", "html", "--output", "json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not allowed with" in done.stderr
    assert talk("sessions", "export", "--output", "json").stdout.startswith("{")
    assert talk("sessions", "export", "--format", "html").stdout.startswith("<!")


@pytest.mark.contract("G3")
def test_a_rewind_as_json_has_what_went_back_and_nothing_else_on_its_output(talk):
    done = talk("sessions", "rewind", "--to", "2", "--yes", "--output", "json")
    data = json.loads(done.stdout)
    assert data["prompt"] == {"number": 2, "text": "Write two"}
    assert (data["conversation"], data["files"], data["skipped"]) == (True, ["notes.txt"], [])
    assert "notes.txt" in done.stderr, "the plan is shown beside it"
    assert notes(talk) == "one\n"


def test_a_rewind_as_json_that_nobody_agreed_to_has_no_files(talk):
    done = talk("sessions", "rewind", "--to", "2", "--output", "json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["files"], data["conversation"]) == (3, None, False)
    assert notes(talk) == "three\n"


@pytest.mark.contract("G3")
def test_a_session_rewound_to_its_begin_says_that_nothing_is_in_it(talk):
    talk("sessions", "rewind", "--to", "1", "--yes")
    shown = talk("sessions", "show", "last")
    assert shown.returncode == 0
    assert shown.stdout == (
        "There is nothing in the conversation; what was said in it was rewound, and its journal"
        " keeps it.\n"
    )


@pytest.mark.contract("G3")
def test_a_rewound_session_is_listed_with_the_prompts_and_turns_that_are_left(talk):
    def counted():
        (listed,) = json.loads(talk("sessions", "list", "--output", "json").stdout)
        shown = talk("sessions", "list").stdout.splitlines()
        heading, row = shown
        column = heading.index("prompts")
        assert row[column:].split()[0] == str(listed["prompts"])
        return listed["prompts"], listed["turns"]

    assert counted() == (3, 6)
    talk("sessions", "rewind", "--to", "2", "--yes")
    assert counted() == (1, 2)
    talk("sessions", "rewind", "--to", "1", "--yes")
    assert counted() == (0, 0)
    model = talk.script({"text": "Begun again."})
    done = talk("run", "--continue", "--model", model, "Again")
    assert (done.returncode, counted()) == (0, (1, 1)), done.stderr
