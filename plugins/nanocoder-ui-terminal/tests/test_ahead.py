"""What is typed while the model works."""

import io
import json

import pytest
from nanocoder_kit_ui.chat import Typed
from nanocoder_ui_terminal.prompt_queue import PromptQueue
from nanocoder_ui_terminal.terminal import Terminal

pytestmark = [pytest.mark.timeout(90)]
SLOW = {"text": "First answer.", "delay_s": 4}
LATE = {"text": "Late.", "delay_s": 60}
SECOND = {"text": "Second answer."}
UP = "\x1b[A"


def prompts(state):
    """Return what was sent to the model, in order."""
    (journal,) = (state / "sessions").glob("*.jsonl")
    records = map(json.loads, journal.read_text().splitlines())
    return [record["data"]["prompt"] for record in records if record["kind"] == "run.started"]


def test_what_is_typed_during_a_run_is_seen_and_sent_after_it(chat, state):
    talk = chat(SLOW, SECOND).type("one").see("waiting").press("and th").see("\u203a and th")
    assert "First answer." not in talk.text
    talk.press("en two\t").see("queued: and then two")
    assert "First answer." not in talk.text
    talk.see("First answer.").see("\u203a and then two").see("Second answer.").see("ask · ")
    assert talk.text.index("First answer.") < talk.text.index("\u203a and then two")
    assert prompts(state) == ["one", "and then two"]
    talk.press(UP).see("\u203a and then two", times=2)


def test_a_line_that_is_entered_before_the_prompt_is_there_is_sent(start, state):
    talk = start(["--mode", "ask"], {"text": "First answer."}, SECOND).type("one").press("half")
    talk.see("First answer.").see("ask · ").see("\u203a half").type(" two").see("Second answer.")
    assert prompts(state) == ["one", "half two"]


def test_a_queued_prompt_can_be_changed_and_deleted(chat, state):
    talk = chat(SLOW, SECOND).type("one").see("waiting").press("wrong\t").see("queued: wrong")
    talk.press("\x7f").see("\u203a wrong").press("\x15right\t").see("queued: right")
    talk.press("never\t").see("queued: never").press(f"{UP}\x15")
    talk.see("Second answer.").see("ask · ")
    assert prompts(state) == ["one", "right"]


def test_a_line_that_was_begun_during_a_run_is_in_the_prompt_afterwards(chat, state):
    talk = chat(SLOW, SECOND).type("one").see("waiting").press("half a li").see("\u203a half a li")
    talk.see("First answer.").see("1 turn").see("ask · ").see("\u203a half a li").type("ne")
    talk.see("Second answer.")
    assert prompts(state) == ["one", "half a line"]


def test_after_an_interrupt_queued_prompts_wait_in_the_line(chat, state):
    talk = chat(LATE).type("one").see("waiting").press("two\t").see("queued: two")
    talk.press("\x03").see("interrupted").see("ask · ").see("\u203a two").look_for(0.5)
    assert prompts(state) == ["one"]
    talk.type(" again").see("waiting")
    assert prompts(state) == ["one", "two again"]


def test_a_command_can_be_queued(chat):
    talk = chat(SLOW).type("one").see("waiting").type("/mode plan").see("queued: /mode plan")
    talk.see("First answer.").see("mode: plan")


def test_a_paste_during_a_run_is_one_prompt_and_names_no_file(chat, state):
    talk = chat(SLOW, SECOND).type("one").see("waiting")
    talk.press("\x1b[200~see @hello.py\rand more\x1b[201~").see("\u203a see @hello.py and more")
    talk.press("\t").see("Second answer.")
    assert prompts(state) == ["one", "see @hello.py\nand more"]
    assert "read_file" not in talk.text


def test_a_question_is_not_answered_by_what_was_typed_before(chat, state, workspace):
    write = {"name": "write_file", "arguments": {"path": "new.py", "content": "x\n"}}
    talk = chat({"calls": [write], "delay_s": 3}, {"text": "Refused."}, SECOND).type("one")
    talk.see("waiting").press("y").see("\u203a y").see("Approve?").look_for(0.5)
    assert not (workspace / "new.py").exists()
    talk.type("n").see("Refused.").see("ask · ").see("\u203a y")


def test_after_ctrl_z_and_fg_what_is_typed_is_queued_as_before(chat, state):
    talk = chat({**SLOW, "delay_s": 6}, SECOND).type("one").see("waiting")
    talk.shell_takes_over().look_for(0.5)
    talk.press("and two\t").see("queued: and two").see("Second answer.").see("ask · ")
    assert prompts(state) == ["one", "and two"]


def call(command):
    return {"calls": [{"name": "bash", "arguments": {"command": command}}]}


def journal(state):
    (file,) = (state / "sessions").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.contract("N5")
def test_enter_sends_a_line_to_the_working_model_after_the_results_of_its_calls(chat, state):
    work = call("touch started; until [ -e go ]; do sleep 0.1; done; echo worked")
    talk = chat(work, {"text": "Both done."}).type("/mode auto").see("auto · ").type("one")
    talk.see("bash touch").press("look at b, too").see("Enter sends it with the next request")
    talk.press("\r").see("sent next: look at b, too").touch("go").see("Both done.").see("auto · ")
    text = talk.text
    assert text.index("worked") < text.index("typed while it worked:") < text.index("Both done.")
    assert "\u203a look at b, too" in text
    assert prompts(state) == ["one"]
    kinds = [record["kind"] for record in journal(state)]
    assert kinds.index("call.finished") < kinds.index("run.steered")
    texts = [
        record["data"]["text"]
        for record in journal(state)
        if record["kind"] == "message" and record["data"]["role"] == "user"
    ]
    assert texts == ["one", "look at b, too"]
    talk.press(UP).see("\u203a look at b, too", times=2)


@pytest.mark.contract("N5")
def test_a_run_goes_on_with_a_line_that_came_during_its_answer(chat, state):
    talk = chat(SLOW, SECOND).type("one").see("waiting").type("and then two")
    talk.see("sent next: and then two").see("First answer.").see("typed while it worked:")
    talk.see("Second answer.").see("2 turns")
    assert prompts(state) == ["one"]


@pytest.mark.contract("N5")
@pytest.mark.parametrize("keys", ["\x03", "\x1b"], ids=["Ctrl-C", "Esc"])
def test_a_line_that_was_not_sent_waits_in_the_prompt_after_an_interrupt(chat, state, keys):
    talk = chat(LATE).type("one").see("waiting").type("two").see("sent next: two")
    talk.press(keys).see("interrupted").see("ask · ").see("\u203a two").look_for(0.5)
    assert prompts(state) == ["one"]


@pytest.mark.contract("N5")
def test_a_command_waits_for_the_end_and_reaches_no_model(chat, state):
    talk = chat(SLOW).type("one").see("waiting").type("/mode plan").type("!echo my$((40+2))")
    talk.see("queued: /mode plan").see("queued: !echo")
    talk.see("First answer.").see("mode: plan").see("my42").see("plan · ")
    assert prompts(state) == ["one"]


@pytest.fixture
def queue():
    return PromptQueue()


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"caf\xc3", b"\xa9\r"], "café"),
        ([b"a\x1b", b"[", b"Db\r"], "ab"),
        ([b"a\x1b", b"b\r"], "ab"),
        ([b"a\x1bOCb\x00\r"], "ab"),
        ([b"one two \x17three\r"], "one three"),
        ([b"one\\\r", b"two\nthree", b"\x1b\r", b"four\r"], "one\ntwo\nthree\nfour"),
        ([b"\x1b[200~a\rb", b"\rc\x1b[20", b"1~\r"], "a\nb\nc"),
    ],
)
def test_keys_make_the_line_however_they_arrive(queue, pieces, text):
    for piece in pieces:
        queue.feed(piece)
    typed = queue.next()
    assert typed is not None
    assert typed.text == text
    assert queue.next() is None


def test_a_long_paste_is_a_short_sign_until_it_is_sent(queue):
    text = "\n".join(f"row {number}" for number in range(500))
    queue.feed(f"\x1b[200~{text}\n\x1b[201~".encode())
    assert queue.lines(Terminal(io.StringIO())) == ["\u203a [pasted 500 lines]"]
    queue.feed(b"\r")
    [line] = queue.lines(Terminal(io.StringIO()))
    assert line.startswith("queued: row 0 row 1")
    assert len(line) < 80
    queue.feed(b"\x7f")
    assert queue.lines(Terminal(io.StringIO())) == ["\u203a [pasted 500 lines]"]
    assert queue.take().text == text


def test_lines_that_come_at_once_are_one_prompt(queue):
    queue.feed(b"one\rtwo\rthree\r")
    assert queue.take() == Typed("one\ntwo\nthree")


def test_of_many_prompts_the_first_are_shown_and_all_come_back(queue):
    for number in range(5):
        queue.feed(b"prompt %d\r" % number)
    queue.feed(b"half")
    lines = queue.lines(Terminal(io.StringIO()))
    assert lines[2:] == ["queued: prompt 2", "… 2 more queued", "\u203a half"]
    assert queue.take() == Typed("prompt 0\nprompt 1\nprompt 2\nprompt 3\nprompt 4\nhalf")
    assert queue.take() == Typed("")


def test_a_queued_command_comes_back_alone(queue):
    for line in ("one", "two", "/mode auto", "!ls", "three", "four"):
        queue.feed(f"{line}\t".encode())
    taken = [queue.take().text for _ in range(5)]
    assert taken == ["one\ntwo", "/mode auto", "!ls", "three\nfour", ""]


def test_after_an_interrupt_a_queued_command_is_run_and_not_sent(chat, state):
    talk = chat(LATE, SECOND).type("one").see("waiting").press("/mode plan\t").press("two\t")
    talk.see("queued: two").press("\x03").see("interrupted").see("\u203a /mode plan")
    talk.look_for(0.5).press("\r").see("mode: plan").see("plan · ").see("\u203a two")
    assert prompts(state) == ["one"]


def test_what_was_queued_before_an_interrupt_waits_for_enter_after_the_next_run_too(chat, state):
    talk = chat(SLOW).type("one").see("waiting").press("two\t").press("!echo m$((40+2))\t")
    talk.see("queued: !echo").press("\x1b").see("interrupted").see("\u203a two").look_for(0.5)
    talk.press("\r").see("First answer.").see("\u203a !echo m$((40+2))").look_for(0.5)
    assert "m42" not in talk.text
    talk.press("\r").see("m42")
    assert prompts(state) == ["one", "two"]


def test_of_a_long_line_the_end_is_shown(queue):
    queue.feed(f"{'wide ' * 40}日本 end".encode())
    [line] = queue.lines(Terminal(io.StringIO()))
    assert line.startswith("\u203a …")
    assert line.endswith("日本 end")
    assert len(line) <= 79


def test_enter_sends_however_early_it_is_pressed(start, state):
    talk = start([], SECOND).see("/help lists").type("one").see("Second answer.")
    assert prompts(state) == ["one"]
    assert talk.see("ask · ").press("\x04").end() == 0
    assert talk.echoes()
