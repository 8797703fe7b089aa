"""A conversation on a screen of the test's own, with real sessions, files and processes."""

import json
import subprocess
import time
from contextlib import contextmanager, nullcontext

import pytest
from command_line import COMMAND
from nanocoder import Host
from nanocoder_kit_ui.chat import Completions, Typed, converse, respond, waits

pytestmark = [pytest.mark.contract("N3"), pytest.mark.timeout(60)]
HI = {"text": "Hello there."}


class Paper:
    """A screen that writes down what it is told; *answers* are those of its person."""

    keys = (("Enter", "send"),)
    columns = 80
    block = "#"

    def __init__(self):
        self.lines, self.events, self.answers, self.line, self.stop = [], [], [], "", None

    def shorten(self, text, columns):
        return text[:columns]

    def say(self, text):
        self.lines.append(text)

    warn = show_change = say

    def show_table(self, rows):
        self.lines += ["  ".join(row) for row in rows]

    def show_output(self, title, text):
        self.lines += [title, text]

    def show_messages(self, messages):
        self.lines.append(f"{len(messages)} messages")

    @contextmanager
    def running(self, stop, *, in_full=False):
        self.stop = stop
        yield self

    def waiting(self, stop, activity):
        return nullcontext()

    def show(self, event):
        self.events.append(event)

    def is_agreed(self, question, cancelled):
        self.lines.append(question)
        return self.answers.pop(0)

    def choose(self, question, options, cancelled):
        self.lines += [question, *(text for text, _ in options)]
        return self.answers.pop(0)

    def begin(self, text):
        self.line = text

    @property
    def text(self):
        return "\n".join(self.lines)


@pytest.fixture
def talk(nanocoder, monkeypatch):
    """Return what begins a conversation on a script of turns, and types lines into it."""
    monkeypatch.setenv("HOME", str(nanocoder.home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    @contextmanager
    def begin(*turns, mode="ask"):
        monkeypatch.setenv("NANOCODER_MODEL", nanocoder.script(*turns))
        host, paper = Host(str(nanocoder.cwd)), Paper()
        with host.session(interactive=True) as session:
            conversation = converse(host, session, paper)
            conversation.find_model()
            paper.type = lambda text, *pasted: respond(conversation, Typed(text, pasted))
            paper.conversation = conversation
            paper.type(f"/mode {mode}")
            yield paper

    return begin


def sent(paper):
    """Return the latest text that the model read from the person."""
    messages = paper.conversation.session.messages
    return [message.text for message in messages if message.role == "user"][-1]


def test_a_prompt_takes_the_lines_of_a_file_along_and_a_pasted_name_does_not(talk, nanocoder):
    (nanocoder.cwd / "a.txt").write_text("one\ntwo\nthree\n")
    with talk(HI, HI) as paper:
        paper.type("See @a.txt:2-3")
        assert "File a.txt, lines 2-3:" in sent(paper)
        assert "two" in sent(paper)
        assert "one" not in sent(paper)
        paper.type("See @a.txt", "@a.txt")
        assert sent(paper) == "See @a.txt"
        assert "@a.txt was pasted, so the file is not sent" in paper.text


@pytest.mark.parametrize("sandbox", ["none", "auto"])
def test_a_command_of_the_person_says_that_it_ran_outside_the_sandbox(talk, monkeypatch, sandbox):
    monkeypatch.setenv("NANOCODER_SANDBOX", sandbox)
    with talk(HI) as paper:
        paper.type("!true")
        is_in_one = bool(paper.conversation.session.info.sandbox)
        assert ("It ran outside the sandbox" in paper.text) == is_in_one


def test_a_command_of_the_person_runs_and_the_model_reads_it_later(talk, nanocoder):
    with talk(HI) as paper:
        paper.type("!touch made; echo out$((40+2))")
        assert (nanocoder.cwd / "made").exists()
        assert [event.kind for event in paper.events].count("call.returned") == 1
        paper.type("!touch bad", "!touch bad")
        assert not (nanocoder.cwd / "bad").exists()
        paper.type("what happened?")
        assert "out42" in sent(paper)
        assert sent(paper).endswith("what happened?")


def test_rules_hold_for_what_a_person_types(talk, nanocoder):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["bash(touch *)"]\n')
    with talk(HI) as paper:
        paper.type("!touch made")
        assert not (nanocoder.cwd / "made").exists()
        (returned,) = [event for event in paper.events if event.kind == "call.returned"]
        assert returned.data["status"] == "denied"


def test_a_command_from_a_file_is_sent_and_a_wrong_word_names_the_nearest(talk, nanocoder):
    folder = nanocoder.cwd / ".nanocoder/commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("---\ndescription: review it\n---\nReview $1 well.\n")
    with talk(HI) as paper:
        paper.type("/help")
        assert "/review  review it" in paper.text
        paper.type("/reviw")
        assert "did you mean '/review'" in paper.text
        paper.type("/review main.py")
        assert sent(paper) == "Review main.py well."
        assert paper.conversation.session.messages[0].typed == "/review main.py"


def test_a_run_is_undone_if_the_person_agrees(talk, nanocoder):
    write = {"name": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}
    with talk({"calls": [write]}, HI, mode="edits") as paper:
        paper.type("Write it")
        paper.answers = [False, True]
        paper.type("/undo")
        assert (nanocoder.cwd / "a.txt").exists()
        paper.type("/undo")
        assert not (nanocoder.cwd / "a.txt").exists()
        assert paper.lines[-1] == "Done. /redo reverts this."


def test_a_conversation_goes_back_to_a_prompt_that_is_chosen(talk):
    with talk(HI, HI) as paper:
        paper.type("first")
        paper.type("second")
        paper.answers = [2]
        paper.type("/rewind")
        assert paper.line == "second"
        assert "2 messages" in paper.lines
        assert "Back before prompt 2" in paper.lines[-1]


def test_sessions_follow_each_other(talk):
    with talk(HI) as paper:
        assert paper.type("hi") is None
        assert paper.type("/clear").resume == ""
        assert paper.type("quit").resume is None


def test_completion_knows_commands_arguments_and_files(talk, nanocoder):
    (nanocoder.cwd / "notes of today.md").write_text("x\n")
    with talk(HI) as paper:
        completions = Completions(paper.conversation)
        commands = [each.text for each in completions.suggest("/com")]
        assert commands == ["/compact"]
        (mode,) = completions.suggest("/mode ed")
        assert (mode.text, mode.length) == ("edits", 2)
        (file,) = completions.suggest("see @today")
        assert (file.text, file.length) == ('@"notes of today.md"', 6)
        assert list(completions.suggest("nothing to complete")) == []
        menu = [each.text for each in completions.suggest("/")]
        assert menu[0] == "/help"
        assert menu.index("/mcp") > menu.index("/exit"), "commands of plugins follow"


@pytest.mark.parametrize(
    ("text", "is_waiting"), [("/help", True), ("!ls", True), ("exit", True), ("and hurry", False)]
)
def test_lines_for_the_program_wait_for_the_end_of_a_run(text, is_waiting):
    assert waits(text) == is_waiting


def test_a_note_is_kept_and_told(talk, nanocoder):
    with talk(HI) as paper:
        paper.type("/remember tabs, not spaces")
        paper.type("hi")
        assert "[the user wants you to remember: tabs, not spaces]" in sent(paper)
        (notes,) = nanocoder.home.rglob("notes.md")
        assert notes.read_text() == "- tabs, not spaces\n"
        paper.type("/cost")
        assert json.dumps(paper.lines).count("all requests: input") == 1


@pytest.mark.parametrize("turns_before", [0, 1])
def test_a_prompt_that_a_kill_left_without_an_answer_is_typed_again(
    nanocoder, monkeypatch, turns_before
):
    monkeypatch.setenv("HOME", str(nanocoder.home))
    slow = {"text": "Never said.", "delay_s": 60}
    if turns_before:
        nanocoder("run", "--model", nanocoder.script(HI), "a first prompt")
    more = ("--continue",) if turns_before else ()
    script = nanocoder.script(*[HI] * turns_before, slow)
    running = subprocess.Popen(
        [COMMAND, "run", *more, "--model", script, "a prompt that matters"],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
    )
    folder = nanocoder.home / ".local/state/nanocoder/sessions"
    message = b'"text":"a prompt that matters"'  # the start of the run names it before
    while not any(message in path.read_bytes() for path in folder.glob("*.jsonl")):
        time.sleep(0.05)
    running.kill()
    running.wait()
    monkeypatch.setenv("NANOCODER_MODEL", nanocoder.script(*[HI] * (turns_before + 1)))
    host, paper = Host(str(nanocoder.cwd)), Paper()
    with host.session(resume=host.sessions.find("last", cwd=nanocoder.cwd)) as session:
        conversation = converse(host, session, paper)
        assert paper.line == "a prompt that matters"
        assert len(session.messages) == 2 * turns_before
        respond(conversation, Typed(paper.line))
        assert session.messages[-1].text == "Hello there."
        assert len(session.messages) == 2 * turns_before + 2
