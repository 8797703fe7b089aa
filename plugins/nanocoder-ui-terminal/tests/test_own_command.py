"""Commands that the person runs from the conversation."""

import json

import pytest

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("N3")]
HI = {"text": "Hello there."}


def prompts(state):
    """Return the messages to the model, in order."""
    (file,) = (state / "sessions").glob("*.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    messages = [record["data"] for record in records if record["kind"] == "message"]
    return [message["text"] for message in messages if message["role"] == "user"]


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_a_command_runs_unasked_and_goes_with_the_next_prompt(chat, state, workspace, mode):
    talk = chat(HI).type(f"/mode {mode}").see(f"mode: {mode}")
    talk.type("!touch made; echo out$((40+2)); echo err >&2; exit 3").see("out42").see("exit 3")
    assert (workspace / "made").exists()
    assert "Approve?" not in talk.text
    assert "timeout" not in talk.text, "the person did not type a limit"
    talk.type("what happened?").see("Hello there.")
    [prompt] = prompts(state)
    assert prompt.startswith("The user ran this command by themselves:\n<user-command>\n$ touch")
    assert "out42\nSTDERR:\nerr\n[exit code 3]\n</user-command>\n\nwhat happened?" in prompt


def test_its_output_is_live_and_ctrl_c_stops_only_it(chat, state):
    talk = chat(HI).type("!seq 30; echo begun; sleep 60; echo never").see("\n  begun")
    assert "\n  1\n" in talk.text
    talk.press("\x03").see("stopped by the user").see("ask · ")
    talk.type("go on").see("Hello there.")
    assert "[stopped by the user]" in prompts(state)[0]
    assert talk.press("\x04").end() == 0


def test_the_models_part_of_a_long_output_is_limited(chat, state):
    chat(HI).type("!seq 20000").see("\n  20000").see("ask · ").type("go").see("Hello there.")
    [prompt] = prompts(state)
    assert len(prompt) < 11_000
    assert " left out; whole output: " in prompt
    assert "\n20000\n" in prompt


def test_what_is_denied_stays_denied(chat, state, tmp_path):
    config = tmp_path / "config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["bash(make *)"]\n')
    talk = chat(HI).type("!make all").see("denied: ").type("!rm -rf /").see("denied: ", times=2)
    talk.type("go").see("Hello there.")
    assert prompts(state) == ["go"]


def test_a_pasted_sign_runs_nothing_and_a_typed_one_does(chat, workspace):
    talk = chat().press("\x1b[200~!touch bad\x1b[201~\r").see("A pasted ! runs nothing")
    talk.press("!\x1b[200~touch good; echo m$((40+1))\x1b[201~\r").see("m41")
    assert (workspace / "good").exists()
    assert not (workspace / "bad").exists()
    talk.type("!").see("! runs the shell command that follows it")
