"""Signals end the conversation by their number; Ctrl-C ends a run."""

import signal

import pytest

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("heeded")]
HI = {"text": "Hello there."}
LATE = {"text": "Late.", "delay_s": 90}
ENDINGS = [(signal.SIGTERM, 143), (signal.SIGHUP, 129)]
BASH = {"calls": [{"name": "bash", "arguments": {"command": "exec sleep 90"}}]}


@pytest.fixture
def heeded():
    """Heed SIGHUP: what nohup has set, and we inherited, the child would inherit, too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def serve_busy():
    """Return the address of a server that has no time for half a minute."""
    from nanocoder_testing.server import ScriptedServer, refusal

    with ScriptedServer(refusal(429, retry_after="30")) as server:
        yield server.url


@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_at_the_prompt_ends_the_conversation(chat, number, code):
    talk = chat(HI)
    talk.signal(number)
    assert talk.end() == code
    assert talk.echoes()


@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_at_a_later_prompt_ends_the_conversation(chat, number, code):
    talk = chat(HI, HI).type("one").see("Hello there.").see("1 turn").press("half a line")
    talk.see("half a line").signal(number)
    assert talk.end() == code


@pytest.mark.rows(1)
@pytest.mark.parametrize(("number", "code"), ENDINGS)
@pytest.mark.parametrize("message", ["go", "waiting"])
def test_a_signal_in_a_run_ends_the_conversation(chat, number, code, message):
    talk = chat(LATE).type("go").see(message)
    talk.signal(number)
    assert talk.end() == code
    assert "bug" not in talk.text


@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_at_a_question_ends_the_conversation(chat, number, code):
    talk = chat(BASH, HI).type("go").see("Approve?")
    talk.signal(number)
    assert talk.end() == code
    assert talk.echoes()


def test_a_signal_in_a_command_ends_the_conversation_and_the_command(chat):
    talk = chat(BASH, HI).type("go").see("Approve?").type("y").see("bash")
    talk.signal(signal.SIGTERM)
    assert talk.end() == 143


def test_a_signal_at_any_moment_of_the_start_ends_the_conversation(start):
    for tenths in range(12):
        talk = start(["--mode", "ask"], HI).look_for(tenths / 10)
        talk.signal(signal.SIGTERM)
        assert talk.end() in {143, -signal.SIGTERM}, talk.text
        assert "bug" not in talk.text


def test_a_stopped_run_leaves_the_next_prompt_alone(chat):
    talk = chat(LATE).type("slow").see("waiting").press("\x03").see("1 turn")
    talk.type("and now").see("and now")
    while "waiting" not in talk.text.partition("and now")[2]:  # not the line of the run before
        assert talk.goes_on()
    assert talk.text.count("\ninterrupted\n") == 1
    talk.press("\x03").see("\ninterrupted\n", times=2).see("1 turn", times=2)
    assert talk.press("\x04").end() == 0


def test_a_sigint_of_another_process_at_the_prompt_is_no_interrupt_of_the_next_run(chat):
    talk = chat(HI)
    talk.signal(signal.SIGINT)
    talk.type("hello").see("Hello there.")
    assert "interrupted" not in talk.text


def test_the_tokens_shown_are_those_of_the_conversation_and_no_sum(chat):
    used = {"usage": {"input_tokens": 1_000, "cache_read_tokens": 234, "output_tokens": 6}}
    talk = chat({"text": "One.", **used}, {"text": "Two.", **used}).type("a").see("1,240 tokens")
    talk.type("b").see("Two.").see("1,240 tokens").type("/cost").see("all requests: input")
    talk.see("468 tokens (19%)")
    assert "2,000 tokens" in talk.text
    assert "2,480" not in talk.text


@pytest.mark.contract("F13")
def test_a_retry_is_a_line_on_the_screen(start, serve_busy):
    env = {"OPENAI_BASE_URL": serve_busy, "NANOCODER_MODEL": "openai/m"}
    talk = start(["--mode", "ask"], HI, env=env).see("Ctrl-D leaves").type("hi")
    talk.see("try 2 of 7").see("429")
    assert talk.press("\x03").see("interrupted").press("\x04").end() == 0


def test_the_clock_of_the_screen_can_be_stopped_before_it_ever_ran(chat):
    for _ in range(6):
        talk = chat(LATE).press("go\r").see("go")
        talk.signal(signal.SIGTERM)
        assert talk.end() == 143, talk.text
