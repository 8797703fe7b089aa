"""`nanocoder sessions search`, `tag` and the tree of `list`, as people use them."""

import json

import pytest
from attrs import evolve
from journals import rewrite_journal
from nanocoder_command_sessions.listing import in_tree
from nanocoder_kit_sessions import SessionSummary

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def sessions(nanocoder):
    """Two sessions, the older one about a parser; returns their IDs, the newest first."""
    for prompt, answer in (("Fix the parser", "The lexer skipped blanks."), ("Say hi", "Hi.")):
        done = nanocoder("run", "--model", nanocoder.script({"text": answer}), prompt)
        assert done.returncode == 0, done.stderr
    return [row["id"] for row in listed(nanocoder)]


def listed(nanocoder, *words):
    return json.loads(nanocoder("sessions", "list", *words, "--output", "json").stdout)


@pytest.mark.contract("G8")
def test_a_search_shows_session_time_folder_title_and_passage(nanocoder, sessions):
    done = nanocoder("sessions", "search", "LEXER", "blanks")
    first, second = done.stdout.splitlines()
    assert first.startswith(f"{sessions[1]}  20")
    assert first.endswith(f"{nanocoder.cwd}  Fix the parser")
    assert second == "  answer: The lexer skipped blanks."
    [row] = json.loads(nanocoder("sessions", "search", "lexer", "--output", "json").stdout)
    assert (row["id"], row["cwd"], row["role"]) == (sessions[1], str(nanocoder.cwd), "answer")
    assert (row["prompt"], row["passage"]) == (1, "The lexer skipped blanks.")
    none = nanocoder("sessions", "search", "nowhere")
    assert (none.returncode, none.stdout.startswith("No session has 'nowhere'")) == (0, True)


def test_a_narrow_terminal_shows_the_title_of_a_match_on_a_line_of_its_own(nanocoder, sessions):
    first, second, third = nanocoder.on_terminal(
        "sessions", "search", "lexer", columns=len(sessions[1]) + 45
    ).splitlines()
    assert first.startswith(sessions[1])
    assert (second, third) == ("  Fix the parser", "  answer: The lexer skipped blanks.")


def test_a_search_looks_in_every_directory_or_only_here(nanocoder, sessions):
    (nanocoder.home / "other").mkdir()
    elsewhere = ("--cwd", str(nanocoder.home / "other"))
    assert sessions[1] in nanocoder("sessions", "search", "lexer", *elsewhere).stdout
    here = nanocoder("sessions", "search", "lexer", "--here", *elsewhere).stdout
    assert here.startswith("No session of ")


def test_hostile_text_is_made_harmless(nanocoder):
    text = "boo \x1b]52;c;eA==\x07 \u202e \x9b31m end"
    nanocoder("run", "--model", nanocoder.script({"text": text}), "go")
    shown = nanocoder("sessions", "search", "boo").stdout
    assert "\\x1b]52" in shown
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(shown)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "name what to search for"),
        ([" "], "name what to search for"),
        (["x", "--limit", "0"], "--limit 0"),
        (["x", "--tag", "a b"], "'a b' is no tag"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(nanocoder, words, problem):
    done = nanocoder("sessions", "search", *words)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


def test_the_directory_may_come_before_and_behind_the_id(nanocoder, sessions):
    here = str(nanocoder.cwd)
    for words in (["--cwd", here, "last"], ["last", "--cwd", here], ["last", f"--cwd={here}"]):
        done = nanocoder("sessions", "tag", *words, "+bug", cwd="/")
        assert done.stdout == f"{sessions[0]}: #bug\n", done.stderr
    refused = nanocoder("sessions", "tag", "last", "--all")
    assert (refused.returncode, "--all is no option" in refused.stderr) == (2, True)


@pytest.mark.contract("G8")
def test_tags_are_added_taken_away_listed_and_searched(nanocoder, sessions):
    new, old = sessions
    done = nanocoder("sessions", "tag", old, "+Bug", "+draft")
    assert done.stdout == f"{old}: #bug #draft\n"
    assert [row["tags"] for row in listed(nanocoder)] == [[], ["bug", "draft"]]
    assert (
        nanocoder("sessions", "tag", old, "-draft", "new.one").stdout == f"{old}: #bug #new.one\n"
    )
    assert [row["id"] for row in listed(nanocoder)] == [new, old], "a tag is no use of a session"
    assert [row["id"] for row in listed(nanocoder, "--tag", "bug")] == [old]
    assert [row["tags"] for row in listed(nanocoder)] == [[], ["bug", "new.one"]]
    assert "#bug #new.one Fix the parser" in nanocoder("sessions", "list").stdout
    assert nanocoder("sessions", "tag", old).stdout == f"{old}: #bug #new.one\n"
    assert old in nanocoder("sessions", "search", "parser", "--tag", "#bug").stdout
    assert (
        "No session tagged other" in nanocoder("sessions", "search", "p", "--tag", "other").stdout
    )
    assert "tagged 'other'" in nanocoder("sessions", "list", "--tag", "other").stdout
    for path in (nanocoder.home / ".local/state/nanocoder/search").iterdir():
        path.unlink()
    assert [row["id"] for row in listed(nanocoder, "--tag", "bug")] == [old], "journals have them"


@pytest.mark.rows(3)
@pytest.mark.parametrize("tag", ["+a b", "+", "-", "+x/y", "+\x1b[31m", f"+{'x' * 41}"])
def test_what_cannot_be_a_tag_is_refused(nanocoder, sessions, tag):
    done = nanocoder("sessions", "tag", sessions[0], tag)
    assert (done.returncode, "is no tag" in done.stderr) == (2, True)
    assert nanocoder("sessions", "tag", sessions[0]).stdout == f"{sessions[0]}: no tags\n"


@pytest.mark.contract("G2")
def test_forks_are_listed_below_the_session_that_they_began_with(nanocoder, sessions):
    new, old = sessions
    first = nanocoder("sessions", "fork", old, "--at", "1").stdout.strip()
    inner = nanocoder("sessions", "fork", old).stdout.strip()
    deep = nanocoder("sessions", "fork", inner).stdout.strip()
    lines = nanocoder("sessions", "list", "--tree", "--empty").stdout.splitlines()[1:]
    titles = {line.split()[0]: line.split(maxsplit=4)[4] for line in lines}
    assert list(titles) == [new, old, inner, deep, first]
    assert titles[old] == "Fix the parser"
    assert titles[inner] == "└─ Fix the parser"
    assert titles[deep].endswith("└─ Fix the parser")
    assert titles[first] == "└─ at 1: Fix the parser"


def test_forks_of_one_second_are_below_their_origin_and_a_circle_is_none():
    def summary(name, started, origin=""):
        return SessionSummary(
            f"20261122-044755-{name}", started, started, "/", "m", "t", 1, 1, origin
        )

    origin = summary("zzzz", 1.1)
    fork = summary("aaaa", 1.2, origin.id)
    one = summary("bbbb", 1.3, "20261122-044755-cccc")
    other = summary("cccc", 1.3, one.id)
    rows = [(row.id[-4:], depth) for row, depth in in_tree([other, one, fork, origin])]
    assert rows == [("bbbb", 0), ("cccc", 1), ("zzzz", 0), ("aaaa", 1)]


def test_a_session_keeps_its_title_when_its_first_prompt_is_rewound(nanocoder, sessions):
    _, old = sessions
    assert nanocoder("sessions", "rewind", old, "--to", "1").returncode == 0
    script = nanocoder.script({"text": "Bananas."})
    assert nanocoder("run", "--session", old, "--model", script, "Count fruit").returncode == 0
    [row] = json.loads(nanocoder("sessions", "search", "bananas", "--output", "json").stdout)
    listed = nanocoder("sessions", "list").stdout
    page = nanocoder("sessions", "export", old, "--format", "html").stdout
    assert row["title"] == "Fix the parser"
    assert "Fix the parser" in listed
    assert "Fix the parser" in page


@pytest.mark.rows(4)
@pytest.mark.parametrize("value", [5, None, ["x"], {"a": {"b": 1}}])
@pytest.mark.parametrize(
    ("kind", "key"), [("message", "role"), ("call.started", "tool"), ("call.started", "call_id")]
)
def test_a_journal_of_a_stranger_with_wrong_types_is_read_or_refused(nanocoder, kind, key, value):
    (nanocoder.cwd / "a.txt").write_text("hello\n")
    call = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
    script = nanocoder.script(call, {"text": "The lexer skipped blanks."})
    assert nanocoder("run", "--model", script, "go").returncode == 0
    [row] = listed(nanocoder)
    journal = nanocoder.home / f".local/state/nanocoder/sessions/{row['id']}.jsonl"

    def wrong(record):
        return evolve(record, data={**record.data, key: value}) if record.kind == kind else record

    rewrite_journal(journal, wrong)
    for words in (("search", "lexer"), ("replay", row["id"]), ("show", row["id"])):
        done = nanocoder("sessions", *words)
        assert done.returncode in {0, 1, 2}
        assert "bug in nanocoder" not in done.stderr
        assert "Traceback" not in done.stderr
