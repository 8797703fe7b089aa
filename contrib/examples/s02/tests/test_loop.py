"""The loop with a scripted provider and the installed tools."""

import json
import os
import signal
import subprocess
import sys

import pytest
from nanocoder import Finished, Message, Plugins, ToolCall, open_session
from nanocoder_testing import Scripted
from s02 import Model, Response, Tools, agent_loop


@pytest.fixture
def session_of(home, tmp_path):
    """Return a function that opens a session with a scripted model in an empty folder."""
    opened = []
    folder = tmp_path / "work"
    folder.mkdir()

    def session(turns):
        script = Scripted(turns)
        plugins = Plugins.installed()
        plugins.add(script, "script")
        options = {"plugins": plugins, "model": "script/play", "mode": "auto", "persist": False}
        opened.append(open_session(folder, **options))
        return opened[-1], script, folder

    yield session
    for one in opened:
        one.close()


def talk(session, prompt, messages=None):
    messages = [] if messages is None else messages
    messages.append({"role": "user", "content": prompt})
    shown = []
    tools = Tools(session)
    agent_loop(
        messages,
        Model(session),
        tools.definitions,
        tools.handlers,
        lambda name, output: shown.append((name, output)),
    )
    return messages, shown


@pytest.mark.contract("LC-12")
@pytest.mark.contract("LC-14")
def test_a_request_carries_system_messages_tools_and_8000_tokens(session_of):
    session, script, _ = session_of(["Hello."])
    messages, _ = talk(session, "Hi")
    (request,) = script.requests
    assert request.max_tokens == 8_000
    assert "coding agent" in request.system
    assert [(one.role, one.text) for one in request.messages] == [("user", "Hi")]
    names = [one.name for one in request.tools]
    assert names == ["bash", "read_file", "write_file", "edit_file"]
    assert messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}


@pytest.mark.contract("LC-15")
def test_every_call_of_a_reply_is_answered_in_order_in_one_message(session_of):
    calls = [("bash", {"command": "echo one"}), ("bash", {"command": "echo two"})]
    session, script, _ = session_of([calls, "Done."])
    messages, shown = talk(session, "go")
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    used = [block["id"] for block in messages[1]["content"]]
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": used[0], "content": "one"},
        {"type": "tool_result", "tool_use_id": used[1], "content": "two"},
    ]
    assert shown == [("bash", "one"), ("bash", "two")]
    assert [one.call_id for one in script.requests[1].messages[2].results] == used


@pytest.mark.contract("LC-13")
def test_what_the_model_said_goes_back_unchanged(session_of):
    native = {"signature": "abc"}
    said = Finished("Let me look.", (ToolCall("t1", "bash", {"command": "true"}),), native=native)
    session, script, _ = session_of([said, "Done."])
    talk(session, "go")
    (_, assistant, _) = script.requests[1].messages
    assert isinstance(assistant, Message)
    assert (assistant.text, assistant.calls, assistant.native) == (said.text, said.calls, native)
    assert script.requests[0].messages[0] is script.requests[1].messages[0]


@pytest.mark.contract("LC-16")
def test_an_unknown_name_is_a_result_and_the_loop_goes_on(session_of):
    session, _, _ = session_of([[("fly", {})], [("bash", {"command": "echo on"})], "Done."])
    _, shown = talk(session, "go")
    assert shown == [("fly", "Unknown tool: fly"), ("bash", "on")]


@pytest.mark.contract("LC-10")
@pytest.mark.contract("LC-16")
def test_a_call_that_cannot_work_is_a_result_and_the_loop_goes_on(session_of):
    wrong = [("read_file", {"path": "../x"}), ("read_file", {"file": "x"}), ("bash", {})]
    session, _, _ = session_of([wrong, "Done."])
    messages, shown = talk(session, "go")
    assert shown[0][1] == "Error: Path escapes workspace: ../x"
    assert all(output.startswith("Error: ") for _, output in shown)
    assert messages[-1]["content"] == [{"type": "text", "text": "Done."}]


@pytest.mark.contract("LC-02")
@pytest.mark.contract("LC-04")
def test_a_tool_is_added_by_an_entry_of_its_own(session_of):
    session, _, _ = session_of([])
    replies = [
        Response([{"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1}}], "tool_use"),
        Response([{"type": "text", "text": "2"}], "end_turn"),
    ]

    class Model:
        def create(self, **_):
            return replies.pop(0)

    handlers = {**Tools(session).handlers, "add": lambda a: str(a + 1)}
    messages = [{"role": "user", "content": "go"}]
    agent_loop(messages, Model(), [], handlers)
    assert messages[2]["content"][0]["content"] == "2"


@pytest.mark.contract("LC-03")
@pytest.mark.contract("LC-18")
def test_a_handler_is_a_function_from_its_parameters_to_text(session_of):
    session, _, folder = session_of([])
    handlers = Tools(session).handlers
    assert handlers["write_file"](path="a.txt", content="one\n") == "Wrote 4 bytes to a.txt"
    assert handlers["edit_file"](path="a.txt", old_text="one", new_text="2") == "Edited a.txt"
    assert handlers["read_file"](path="a.txt") == "2"
    assert (folder / "a.txt").read_text() == "2\n"


@pytest.mark.contract("LC-20")
def test_the_five_steps_of_a_first_session(session_of):
    greet = "def greet(name):\n    return f'Hello, {name}!'\n"
    edit = {
        "path": "greet.py",
        "old_text": "def greet(name):\n",
        "new_text": 'def greet(name):\n    """Greet."""\n',
    }
    session, _, folder = session_of(
        [
            *([("read_file", {"path": "requirements.txt"})], "It is empty but for attrs."),
            *([("write_file", {"path": "greet.py", "content": greet})], "Created."),
            *([("edit_file", edit)], "Documented."),
            *([("read_file", {"path": "greet.py"})], "It is there."),
            *([("bash", {"command": "python3 -c 'import greet; print(greet.greet(\"x\"))'"})], "."),
        ]
    )
    (folder / "requirements.txt").write_text("attrs\n")
    messages, model, tools, shown = [], Model(session), Tools(session), []
    for prompt in ("Read requirements.txt", "Create greet.py", "Document it", "Look", "Run it"):
        messages.append({"role": "user", "content": prompt})
        agent_loop(
            messages, model, tools.definitions, tools.handlers, lambda *one: shown.append(one)
        )
    assert [output for _, output in shown] == [
        "attrs",
        "Wrote 46 bytes to greet.py",
        "Edited greet.py",
        'def greet(name):\n    """Greet."""\n    return f\'Hello, {name}!\'',
        "Hello, x!",
    ]


@pytest.mark.timeout(60)
@pytest.mark.contract("LC-21")
@pytest.mark.parametrize("leave", ["q\n", "exit\n", "\n", "EXIT\n", ""])
def test_a_conversation_shows_the_tools_and_leaves(home, tmp_path, leave):
    calls = [{"name": "bash", "arguments": {"command": "yes | head -c 900"}}]
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": [{"calls": calls}, {"text": "Done."}]}))
    kept = {"PATH": os.environ["PATH"], "HOME": str(home), "NANOCODER_MODE": "auto"}
    done = subprocess.run(
        [sys.executable, "-m", "s02"],
        input=f"go\n{leave}more\n" if leave else "go\n",
        env=kept | {"MODEL_ID": f"scripted/{script}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = ("y\n" * 100)[:200]
    assert done.stdout.startswith(f"s02 >> > bash\n{shown}\nDone.\ns02 >> ")
    assert done.stdout.count("s02 >> ") == 2


@pytest.mark.timeout(60)
@pytest.mark.contract("LC-21")
def test_ctrl_c_leaves_a_conversation(home, tmp_path):
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": [{"text": "Done."}]}))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "MODEL_ID": f"scripted/{script}"}
    command = [sys.executable, "-u", "-m", "s02"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as talk:
        assert talk.stdout.read(7) == b"s02 >> "
        talk.send_signal(signal.SIGINT)
        said, complaint = talk.communicate(timeout=30)
    assert (talk.returncode, said, complaint) == (0, b"\n", b"")
