"""The conversation in a real terminal."""

import base64
import io
import json
import re
import signal
import stat

import pytest
from command_line import plugin_in
from nanocoder_ui_terminal.table import table_lines
from nanocoder_ui_terminal.terminal import Terminal

pytestmark = pytest.mark.timeout(90)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


HI = {"text": "Hello there.", "usage": {"input_tokens": 1_000, "output_tokens": 234}}


def test_a_prompt_gets_its_answer_and_the_line_below_counts_tokens(chat):
    talk = chat(HI).type("hi").see("Hello there.").see("1,234 tokens").press("\x04")
    assert talk.end() == 0


def test_several_lines_are_one_prompt(chat):
    talk = chat(HI).press("one\x1b\rtwo").type("").see("Hello there.")
    talk.type("/clear").type("/sessions").see("1  one two")


def test_an_interrupt_returns_to_the_prompt(chat):
    talk = chat({"text": "Late.", "delay_s": 60}, HI).type("slow").see("waiting").press("\x03")
    talk.see("interrupted").type("/cost").see("0 tokens").press("\x04")
    assert talk.end() == 0


@pytest.mark.contract("H9")
def test_cost_and_context_fit_together_and_a_stopped_request_is_named(chat):
    talk = chat(HI, {"text": "Late.", "delay_s": 60}).type("one").see("Hello there.")
    talk.type("/context").see("by the model's own count, it was 1,234 tokens with the last reply")
    talk.type("slow").see("waiting").press("\x03").see("interrupted").type("/context")
    total = re.findall(r"together +([\d,]+)", talk.see("together", times=2).text)[1]
    talk.type("/cost").see(f"prompt, tools, conversation  {total} tokens")
    talk.see("stopped requests             1 without a count: the provider may charge for")


def test_an_interrupt_at_the_prompt_clears_the_line(chat):
    talk = chat(HI).press("nonsense").see("nonsense").press("\x03").type("hi").see("Hello there.")
    assert "nonsense" not in talk.text
    talk.press("\x04")
    assert talk.end() == 0


@pytest.mark.rows(1)
@pytest.mark.parametrize("moment", ["prompt", "run", "question"])
def test_a_process_that_is_told_to_end_ends_at_once(chat, moment):
    turn = {"text": "Late.", "delay_s": 60} if moment == "run" else call("bash", command="touch x")
    talk = chat(turn)
    if moment != "prompt":
        talk.type("go").see("waiting" if moment == "run" else "Approve?")
    talk.signal(signal.SIGTERM)
    assert talk.end() == 143
    assert talk.echoes()


def test_an_unknown_command_names_the_nearest(chat):
    chat().type("/hlep").see("did you mean '/help'?")


@pytest.mark.parametrize("columns", [80, 60])
def test_help_lists_commands_and_keys_whole(columns, chat):
    talk = chat(columns=columns).type("/help").see("Ctrl-R").see("/model [P/M]")
    talk.see("leave")
    assert "Alt-Enter" in talk.text
    assert "…" not in talk.text.partition("/help\n")[2].partition("ask · ")[0]


@pytest.mark.parametrize("columns", [40, 24])
def test_in_a_narrow_window_help_is_whole_below_each_command(columns, start):
    talk = start(["--mode", "ask"], columns=columns).see("Ctrl-D").see("\nask").type("/help")
    talk.see("Ctrl-R").look_for(1)
    shown = talk.text.partition("/help\n")[2].partition("\nask")[0]
    assert "…" not in shown
    assert "resume an earlier session" in " ".join(shown.split())


def test_tools_mode_and_model_can_be_seen_and_changed(chat):
    talk = chat(HI).type("/tools").see("read_file").see("tool-read")
    talk.type("/tools read_fil").see("there is no tool 'read_fil'; did you mean 'read_file'?")
    talk.type("/tools read_file").see("read_file (safe, tool-read)")
    talk.type("/mode plan").see("mode: plan").see("plan · ")
    talk.type("/mode wrong").see("there is no mode 'wrong'; the modes are plan, ask, edits, auto")
    talk.type("/mode edit").see("did you mean 'edits'?")
    talk.press("\x1b[Z").see("ask · scripted")
    talk.type("/model nobody/x").see("there is no provider 'nobody'")
    assert "--model" not in talk.text
    talk.type("hi").see("Hello there.")


def test_the_words_that_people_try_mean_something(chat):
    talk = chat().type("/stats").see("0 tokens").type("/new").see("Ctrl-D leaves", times=2)
    assert talk.type("/quit").end() == 0


@pytest.mark.contract("MA-118")
def test_reloading_says_what_changed_and_counts_at_once(chat, tmp_path, workspace):
    config = tmp_path / "config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    script = (call("write_file", path="new.py", content="x\n"), {"text": "No."}, HI)
    talk = chat(*script).type("/reload").see("Configuration reloaded: no changes")
    config.write_text('[plugins.policy-rules]\ndeny = ["write_file"]\n')
    talk.type("/reload").see("policy-rules.deny").see("config.toml:2").see("from the next call on")
    talk.type("write").see("No.")
    assert "Approve?" not in talk.text
    assert not (workspace / "new.py").exists()
    config.write_text("[plugins.policy-rules]\ndeny = 3\n")
    talk.type("/reload").see("the old configuration stays in force").see("config.toml:2")


def test_a_plugin_that_was_installed_beside_a_conversation_is_named_by_reload(chat, tmp_path):
    source = "from nanocoder import hookimpl\n\n@hookimpl\ndef nanocoder_tools():\n    return []\n"
    site = plugin_in(tmp_path / "site", "hooks-old", source)
    talk = chat(HI, env=site).type("/reload").see("Configuration reloaded: no changes")
    plugin_in(tmp_path / "site", "hooks-new", source)
    talk.type("/reload").see("new or changed plugins: hooks-new; nanocoder has them from its next")
    (tmp_path / "site/hooks_old.py").write_text(f"{source}\n# edited\n")
    talk.type("/reload").see("plugins: hooks-new, hooks-old;").type("/quit")
    assert talk.end() == 0


FILE_TOOL = """\
from nanocoder import ToolContext, hookimpl, tool


@tool(effects={"read"}, risk="safe")
def shout(ctx: ToolContext, text: str) -> str:
    \"\"\"Say it loudly.\"\"\"
    return text.upper() + "!"


@hookimpl
def nanocoder_tools():
    return [shout]
"""


@pytest.mark.contract("A36")
def test_a_plugin_of_one_file_counts_from_the_next_reload_on(chat, tmp_path):
    folder = tmp_path / "config/nanocoder/plugins"
    folder.mkdir(parents=True)
    script = (
        call("shout", text="hey"),
        {"text": "One."},
        call("shout", text="ho"),
        {"text": "Two."},
    )
    talk = chat(*script)
    (folder / "shout.py").write_text(FILE_TOOL)
    talk.type("/reload").see("tools that are new: shout").see("plugin shout: loaded")
    talk.type("go").see("One.").type("/output").see("HEY!")
    (folder / "shout.py").write_text(FILE_TOOL.replace("!", "?"))
    talk.type("/reload").see("plugin shout: loaded again")
    talk.type("go").see("Two.").type("/output").see("HO?")
    (folder / "shout.py").write_text("1 / 0\n")
    talk.type("/reload").see("plugin shout: not loaded, its import failed: ZeroDivisionError")
    talk.see("the version before stays")
    talk.type("/tools shout").see("shout (safe, shout)")
    (folder / "shout.py").unlink()
    talk.type("/reload").see("tools that are gone: shout").see("plugin shout: removed")
    policy = FILE_TOOL.replace("nanocoder_tools()", "nanocoder_before_execute(call)")
    (folder / "judge.py").write_text(policy)
    talk.type("/reload").see("plugin judge: it judges calls, so it counts from the next start on")


def test_the_last_run_can_be_undone_and_redone(chat, workspace, state):
    edit = call("edit_file", path="hello.py", old_string="hello", new_string="bye")
    new = call("write_file", path="new.py", content="x\n")
    talk = chat(edit, new, {"text": "Written."}, HI).type("/undo").see("nothing to undo")
    talk.type("/mode edits").see("edits · ").type("go").see("Written.").see("3 turns")
    talk.type("/undo").see("+print('hello')").see("delete new.py").see("Make these changes?")
    assert "remove new.py" not in talk.text, "it is said once"
    assert "put back" not in talk.text, "nothing was"
    talk.type("maybe").see("'maybe' is neither yes nor no").see("Make these changes?", times=2)
    talk.type("n").see("Nothing was changed.")
    assert (workspace / "new.py").exists()
    talk.type("/undo").see("Make these changes?", times=3).type("y").see("/redo reverts this")
    assert "put back hello.py" in talk.text
    assert "removed new.py" in talk.text
    assert (workspace / "hello.py").read_text() == "print('hello')\n"
    assert not (workspace / "new.py").exists()
    talk.type("/redo").see("Make these changes?", times=4).type("y").see("/undo reverts this")
    assert (workspace / "hello.py").read_text() == "print('bye')\n"
    assert (workspace / "new.py").read_text() == "x\n"
    talk.type("/undo").see("Make these changes?", times=5).type("y").see("Done. /redo", times=2)
    talk.type("and now").see("Hello there.")
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert "undid your changes; read these files again" in journal.read_text()


def test_a_file_that_was_changed_since_is_named_and_nothing_is_undone(chat, workspace):
    edit = call("edit_file", path="hello.py", old_string="hello", new_string="bye")
    talk = chat(edit, HI).type("/mode edits").see("edits · ").type("go").see("Hello there.")
    (workspace / "hello.py").write_text("mine\n")
    talk.type("/undo").see("hello.py has been changed since")
    assert (workspace / "hello.py").read_text() == "mine\n"
    talk.type("/undo --all").see("/undo takes --force or nothing, not '--all'")
    talk.type("/undo --force").see("Make these changes?").type("y").see("Done.")
    assert "hello')" in (workspace / "hello.py").read_text()


def test_an_undo_that_leaves_a_file_says_so_at_its_end(chat, workspace):
    edit = call("edit_file", path="hello.py", old_string="hello", new_string="bye")
    new = call("write_file", path="new.py", content="x\n")
    talk = chat(edit, new, HI).type("/mode edits").see("edits · ").type("go").see("Hello there.")
    (workspace / "hello.py").write_text("mine\n")
    talk.type("/undo").see("left as it is: hello.py").see("Make these changes?").type("y")
    talk.see("Restored 1 file, left 1 file as above. /redo reverts this.")
    assert not (workspace / "new.py").exists()


def test_a_mentioned_file_travels_with_the_prompt(chat, workspace, state):
    chat(HI).type("explain @hello.py, please").see("read_file hello.py").see("Hello there.")
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert "File hello.py:\\n1\\tprint('hello')" in journal.read_text()


@pytest.mark.contract("N2")
@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("mention", "says"),
    [
        (
            "big.txt:10-12",
            "File big.txt, lines 10-12:\\n10\\tline 10\\n11\\tline 11\\n12\\tline 12",
        ),
        ("big.txt#L10-12", "File big.txt, lines 10-12:\\n10\\t"),
        ("big.txt#L10-L12", "File big.txt, lines 10-12:\\n10\\t"),
        ("big.txt:10,", "File big.txt, line 10:\\n10\\tline 10\\n["),
        ("big.txt#L10.", "File big.txt, line 10:\\n10\\t"),
        ('"big.txt:10-12"', "File big.txt, lines 10-12:\\n10\\t"),
        ("odd:7", "File odd:7:\\n1\\todd"),
    ],
)
def test_lines_of_a_file_can_be_mentioned(chat, workspace, state, mention, says):
    (workspace / "big.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    (workspace / "odd:7").write_text("odd\n")
    talk = chat(HI).type(f"explain @{mention} please").see("Hello there.")
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert says in journal.read_text()
    assert "no such file" not in talk.text


@pytest.mark.contract("N2")
@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("mention", "says"),
    [
        ("big.txt:12-10", "@big.txt:12-10: line 12 comes after the last one named"),
        ("big.txt#L12-L10", "@big.txt#L12-L10: line 12 comes after the last one named"),
        ("big.txt:0", "@big.txt:0: lines count from 1"),
        ("none.txt:3", "@none.txt:3: there is no such file here"),
        ("big.txt:70-80", "big.txt, lines 70-80: "),
    ],
)
def test_lines_that_cannot_be_are_told(chat, workspace, state, mention, says):
    (workspace / "big.txt").write_text("one\n")
    talk = chat(HI).type(f"explain @{mention}").see("Hello there.")
    assert says in talk.text
    assert "only the name is sent" in talk.text
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert "File big.txt" not in journal.read_text()


@pytest.mark.contract("N2")
def test_lines_beyond_the_end_are_told_and_the_others_sent(chat, workspace, state):
    (workspace / "big.txt").write_text("one\ntwo\nthree\n")
    talk = chat(HI).type("explain @big.txt:2-90").see("Hello there.")
    assert "big.txt, lines 2-90: the file ends at line 3; lines 2-3 are sent" in talk.text
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert "File big.txt, lines 2-3:\\n2\\ttwo\\n3\\tthree" in journal.read_text()


@pytest.mark.contract("N2")
def test_a_mentioned_file_that_cannot_be_read_is_told_and_only_named(chat, workspace, state):
    (workspace / ".env").write_text("KEY=1\n")
    talk = chat(HI).type("explain @.env").see("Hello there.")
    assert "only the name is sent" in " ".join(talk.text.split())
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert "KEY=1" not in journal.read_text()


def test_a_mentioned_picture_is_attached(chat, workspace, state):
    (workspace / "dot.png").write_bytes(PNG)
    chat(HI).type("what is in @dot.png?").see("Hello there.")
    (journal,) = (state / "sessions").glob("*.jsonl")
    records = map(json.loads, journal.read_text().splitlines())
    [message] = [
        record["data"]
        for record in records
        if record["kind"] == "message" and record["data"]["role"] == "user"
    ]
    [attachment] = message["attachments"]
    assert attachment["media_type"] == "image/png"
    assert "File dot.png:\n[image/png" in message["text"]


def test_a_mentioned_file_that_is_not_there_is_told(chat):
    talk = chat(HI).type("explain @nope.py, @hello.py and @someone").see("Hello there.")
    assert "@nope.py: there is no such file here" in talk.text
    assert talk.text.count("there is no such file") == 1


def test_a_pasted_mention_is_only_text(chat):
    talk = chat(HI).press("\x1b[200~see @hello.py\x1b[201~").type("").see("Hello there.")
    assert "read_file" not in talk.text


def test_files_are_completed_after_an_at(chat, workspace):
    (workspace / "sub").mkdir()
    (workspace / "sub/unusual_name.py").touch()
    (workspace / "__pycache__").mkdir()
    (workspace / "__pycache__/unusual_name.pyc").touch()
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "unusual.log").touch()
    talk = chat(HI).press("see @unus").see("sub/unusual_name.py")
    assert "unusual_name.pyc" not in talk.text
    assert "unusual.log" not in talk.text


def test_calls_ask_for_approval_in_between(chat, workspace):
    write = call("write_file", path="new.py", content="x\n")
    talk = chat(write, {"text": "Written."}).type("write").see("Approve?").type("y")
    talk.see("Written.").press("\x04")
    assert talk.end() == 0
    assert (workspace / "new.py").exists()


def test_an_error_of_the_model_leaves_the_prompt_usable(chat):
    refused = {"error": {"kind": "auth", "message": "the key was refused"}}
    talk = chat(refused).type("hi").see("the key was refused").type("/cost").see("0 tokens")
    talk.press("\x04")
    assert talk.end() == 0


def test_without_a_model_the_ways_to_get_one_are_shown(start):
    env = {"NANOCODER_MODEL": "nobody/x"}
    talk = start([], env=env).see("there is no provider 'nobody'").see("no model")
    talk.type("hi").see("there is no provider 'nobody'", times=2).type("/mode").see("mode: ask")


def test_where_no_model_can_be_used_the_conversation_says_how_to_choose_one(start, tmp_path):
    config = tmp_path / "config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins]\ndisable = ["provider-local"]\n')
    keys = ("NANOCODER_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    talk = start([], env=dict.fromkeys(keys, "")).see("No model is configured")
    talk.see("Then: /model PROVIDER/MODEL").see("ask · ").type("hi")
    talk.see("No model is configured", times=2).see("Then: /model PROVIDER/MODEL", times=2)
    assert "same command" not in talk.text
    assert "--model" not in talk.text


def test_a_session_can_be_left_and_gone_on_with(chat, start):
    talk = chat(HI).type("remember me").see("Hello there.").type("/exit")
    assert talk.end() == 0
    again = start(["sessions", "resume"], HI, {"text": "Welcome back."})
    again.see("remember me").see("Hello there.").type("hi").see("Welcome back.")


def test_who_comes_back_sees_the_last_prompt_as_typed_and_its_own_answer(chat, start, workspace):
    write = {"calls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "x"}}]}
    turns = [write, {"text": "It has a brother."}, {"error": "it broke"}]
    script = workspace / "small.json"
    script.write_text(json.dumps({"turns": turns, "profile": "small"}))
    more = {"env": {"NANOCODER_MODEL": f"scripted/{script}"}}
    talk = chat(**more).type("/mode auto").see("auto · ").type("copy @hello.py !")
    talk.see("a brother.")
    assert talk.see("auto · ").type("/exit").end() == 0
    again = start(["sessions", "resume"], **more).see("a brother.")
    assert "copy @hello.py !\n" in again.text
    assert "print('hello')" not in again.text
    again.type("/undo").see("Make these changes?").type("y").see("/redo reverts this")
    assert again.type("and now?").see("it broke").type("/exit").end() == 0
    last = start(["sessions", "resume"], **more).see("it was not answered")
    assert "1 earlier prompt\n" in last.text
    assert "and now?" in last.text
    assert "undid" not in last.text
    assert "a brother" not in last.text


@pytest.mark.contract("N2")
def test_a_small_model_gets_a_mentioned_file_once_and_what_was_typed_last(chat, workspace, state):
    script = workspace / "small.json"
    script.write_text(json.dumps({"turns": [HI], "profile": "small"}))
    talk = chat(env={"NANOCODER_MODEL": f"scripted/{script}"})
    talk.type("!echo ran hello.py").see("ran hello.py").see("ask · ")
    talk.type("what is in @hello.py?").see("Hello there.")
    (journal,) = (state / "sessions").glob("*.jsonl")
    records = map(json.loads, journal.read_text().splitlines())
    messages = [record["data"] for record in records if record["kind"] == "message"]
    text = messages[0]["text"]
    assert text.count("print('hello')") == 1
    assert text.index("ran hello.py") < text.index("File hello.py:") < text.index("what is in")
    assert text.endswith("what is in @hello.py?")
    assert messages[0]["typed"] == "what is in @hello.py?"


def test_a_cleared_session_can_be_resumed_by_its_id(chat):
    talk = chat(HI, {"text": "Still here."}).type("first words").see("Hello there.")
    talk.type("/clear").see("Ctrl-D leaves", times=2).type("/sessions").see("1  first words")
    line = next(line for line in talk.text.splitlines() if line.startswith("1  first words"))
    assert re.fullmatch(r"1  first words  just now  1 prompt  \d kB  \d{8}-\d{6}-\w{4}", line)
    talk.type(f"/resume {line.split()[-1]}").see("first words", times=3)
    talk.type("more").see("Still here.")


def test_a_cleared_session_keeps_mode_and_model(chat, workspace):
    (workspace / "other.json").write_text('{"turns": []}')
    talk = chat(HI).type("/mode edits").see("edits · ").type("/model scripted/other.json")
    talk.see("Switched to scripted/other.json").type("/clear").see("Ctrl-D leaves", times=2)
    talk.type("/mode").see("mode: edits", times=2).type("/model").see(
        "Current model: scripted/other.json"
    )


@pytest.mark.parametrize("leave", ["\x04", "/exit\r"], ids=["Ctrl-D", "exit"])
def test_who_leaves_is_told_the_way_back(chat, state, leave):
    talk = chat(HI).type("hi").see("Hello there.").see("1,234 tokens").press(leave)
    assert talk.end() == 0
    (journal,) = (state / "sessions").glob("*.jsonl")
    assert talk.text.endswith(f"To resume: nanocoder sessions resume {journal.stem}")


def test_the_way_back_keeps_the_profile(start, tmp_path):
    profile = tmp_path / "config/nanocoder/profiles/calm.toml"
    profile.parent.mkdir(parents=True)
    profile.write_text('mode = "plan"\n')
    talk = start(["--profile", "calm"], HI).see("plan · ").type("hi").see("1,234 tokens")
    assert talk.press("\x04").end() == 0
    assert "To resume: nanocoder --profile calm sessions resume " in talk.text


def test_a_status_line_that_does_not_fit_cuts_no_number(start, tmp_path):
    (tmp_path / "workspace/s.json").write_text(json.dumps({"turns": [HI]}))
    wide = {"NANOCODER_MODEL": "scripted/s.json"}
    talk = start(["--mode", "ask"], env=wide, columns=30).see("ask · scripted/s.json").ready()
    talk.type("hi").see("Hello there.").see("ask · scripted/s.json", times=1).look_for(1)
    assert "1,2" not in talk.text.splitlines()[-1]
    assert talk.text.splitlines()[-1].startswith("ask · scripted/s.json")


def test_a_mode_is_not_resumed_and_a_person_reads_so(start):
    talk = start(["--mode", "edits"], HI).see("edits · ").ready().type("hi").see("1,234 tokens")
    talk.press("\x04").see(" --mode edits")
    assert talk.end() == 0
    began = "this session began in mode edits; it goes on in mode ask (/mode changes it)"
    again = start(["-c"], HI).see(began).see("ask · ").ready().type("/reload").see("no changes")
    assert again.text.count(began) == 1
    assert again.press("\x04").end() == 0
    same = start(["-c", "--mode", "edits"], HI).see("edits · ").ready()
    assert "began in mode" not in same.text


@pytest.mark.parametrize("word", ["exit", "quit"])
def test_a_word_that_no_model_can_use_leaves(chat, word):
    talk = chat({"text": "Never asked."}).type(word)
    assert talk.end() == 0
    assert "Never asked." not in talk.text


def test_who_said_nothing_is_told_no_way_back(chat):
    talk = chat().press("\x04")
    assert talk.end() == 0
    assert "To resume" not in talk.text


def test_an_old_session_with_hostile_text_is_shown_inert(chat, start):
    hostile = {"text": "Hello \x1b]52;c;eA==\x07 \u202e there."}
    talk = chat(hostile).type("hi").see("there.").type("/exit")
    assert talk.end() == 0
    again = start(["sessions", "resume"], hostile).see("\\x1b]52;c;eA==\\x07 \\u202e there.")
    assert "\x1b]52" not in again.raw


def test_the_history_is_kept_where_nobody_else_can_read_it(chat, start, state):
    talk = chat(HI).type("a private question").see("Hello there.").type("/exit")
    assert talk.end() == 0
    assert stat.S_IMODE((state / "history").stat().st_mode) == 0o600
    again = start([], HI).see("Ctrl-D leaves").see("ask · ").press("\x1b[A").press("\x1b[A")
    again.see("a private question")


@pytest.mark.contract("NT-58")
def test_an_ephemeral_conversation_can_be_undone_and_leaves_no_trace(start, workspace, state):
    write = call("write_file", path="new.py", content="x\n")
    talk = start(["--ephemeral", "--mode", "edits"], write, {"text": "Written."})
    talk.see("Ctrl-D leaves").type("a private question").see("Written.").see("2 turns")
    talk.type("/undo").see("Make these changes?").type("y").see("/redo reverts this")
    assert not (workspace / "new.py").exists()
    talk.type("/name x").see("this session is not kept, so it cannot be named").press("\x04")
    assert talk.end() == 0
    assert "To resume" not in talk.text
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert not any(b"private" in path.read_bytes() for path in kept), kept


def test_without_a_terminal_it_says_what_to_do_instead(workspace):
    import subprocess
    import sys

    process = subprocess.run(
        [sys.executable, "-m", "nanocoder"],
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert "nanocoder run" in process.stderr


def pasted(text):
    return f"\x1b[200~{text}\x1b[201~"


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    "text", ["see @hello.py for it\r", " see @hello.py", "\rsee @hello.py\r\r"]
)
def test_a_paste_with_blanks_at_its_ends_names_no_file(chat, text):
    talk = chat({"text": "I see."}).press(pasted(text)).press("\r")
    talk.see("@hello.py was pasted, so the file is not sent").see("I see.")
    assert "read_file" not in talk.text


def test_enter_takes_the_line_that_a_search_found_and_ctrl_c_leaves_the_search(chat):
    talk = chat({"text": "First."}, {"text": "Second."}).type("modest words").see("First.")
    talk.press("\x12").see("search").press("mod").see("modest words", times=2)
    talk.press("\x03").press("\x12").see("search").press("mod").press("\r").press("\r")
    talk.see("Second.")


def test_ctrl_c_on_an_empty_line_says_how_to_leave_and_does_it(chat):
    talk = chat().press("\x03").see("Ctrl-C again, or Ctrl-D, leaves").press("\x03")
    assert talk.end() == 0


def test_after_typing_ctrl_c_on_an_empty_line_only_says_how_to_leave_again(chat):
    talk = chat(HI).press("\x03").see("Ctrl-C again, or Ctrl-D, leaves").press("x").see("ask · ")
    talk.press("\x7f\x03").see("Ctrl-C again, or Ctrl-D, leaves").type("hi").see("Hello there.")


def test_a_folder_that_a_prompt_names_is_explained(chat, workspace):
    (workspace / "src").mkdir()
    talk = chat({"text": "I see."}).type("look at @src please")
    talk.see("@src is a folder: its name is sent, its files are not").see("I see.")


@pytest.mark.rows(1)
@pytest.mark.parametrize("keys", ["\n", "\\\r", "\x1b\r"], ids=["Ctrl-J", "backslash", "Alt-Enter"])
def test_three_ways_to_a_new_line(chat, keys, state):
    chat({"text": "I see."}).press(f"one{keys}two").see("two").press("\r").see("I see.")
    journals = "".join(path.read_text() for path in state.rglob("*.jsonl"))
    assert '"one\\ntwo"' in journals


def test_a_long_paste_is_folded_until_it_is_sent(chat, start, state):
    text = "\r".join(f"row {number}" for number in range(500))
    talk = chat({"text": "I see."}).press(pasted(text)).see("[pasted 500 lines]")
    assert "row 250" not in talk.text
    talk.press("\r").see("I see.").see("1 turn").press("\x04")
    assert talk.end() == 0
    journals = "".join(path.read_text() for path in state.rglob("*.jsonl"))
    assert "row 249\\nrow 250" in journals
    start(["--continue"], HI).see("row 5").see("494 more lines").see("I see.")


def test_a_plan_can_be_carried_out_with_one_word(chat, workspace):
    write = {"calls": [{"name": "write_file", "arguments": {"path": "n.py", "content": "x\n"}}]}
    talk = chat({"text": "The plan."}, write, {"text": "Carried out."}).type("/mode plan")
    talk.see("mode: plan").type("plan it").see("/go carries out this plan")
    talk.type("/go edits").see("Carried out.").see("edits · ")
    assert (workspace / "n.py").read_text() == "x\n"


def test_without_a_plan_there_is_nothing_to_carry_out(chat):
    talk = chat({"text": "Never."}).see("ask · ").type("/go edits").see("there is no plan to carry")
    talk.type("/mode").see("mode: ask")
    assert "Never." not in talk.text


def test_undo_of_a_new_file_says_how_long_it_is(chat, workspace):
    content = "".join(f"row {number}\n" for number in range(300))
    write = {"calls": [{"name": "write_file", "arguments": {"path": "n.py", "content": content}}]}
    talk = chat(write, {"text": "Done."}).type("/mode edits").see("mode: edits").type("write")
    talk.see("Done.").type("/undo").see("delete n.py (300 lines)").see("Make these changes?")
    assert "row 250" not in talk.text
    talk.type("y").see("Done. /redo reverts this.")
    assert not (workspace / "n.py").exists()
    talk.type("/redo").see("create n.py (300 lines)").see("Make these changes?")
    assert "row 250" not in talk.text


def test_a_rule_that_does_not_hold_is_told_with_the_greeting(chat, tmp_path):
    config = tmp_path / "config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["acme_deploy"]\n')
    talk = chat(HI).see("'acme_deploy', which is not installed").type("see @hello.py")
    talk.see("Hello there.").see("1 turn")
    assert talk.text.count("not installed") == 1
    config.write_text('[plugins.policy-rules]\ndeny = ["acme_ship"]\n')
    talk.type("/reload").see("'acme_ship', which is not installed")


@pytest.mark.contract("H9")
def test_what_fills_the_window_is_shown_by_source(chat):
    talk = chat(call("read_file", path="hello.py"), HI, rows=60).type("look").see("Hello there.")
    talk.type("/context").see("together").see("% of 1,000,000")
    for part in ("system prompt", "tools", "conversation", "results of calls", "· read_file"):
        talk.see(part)


def test_in_a_narrow_window_short_rows_of_a_table_stay_rows():
    class Narrow(Terminal):
        size = 40, 24

    rows = [("system prompt", "112", "#"), ("· tool-read", "111", ""), ("together", "1", "x" * 18)]
    assert table_lines(rows, Narrow(io.StringIO())) == [
        "system prompt  112  #",
        "· tool-read    111",
        "together       1    xxxxxxxxxxxxxxxxxx",
    ]
    wide = [("a" * 20, "111", "b" * 18), ("c", "22", "")]
    assert table_lines(wide, Narrow(io.StringIO())) == [
        "a" * 20,
        f"  111  {'b' * 18}",
        f"c{' ' * 21}22",
    ]


@pytest.mark.contract("G5")
def test_a_conversation_is_compacted_shown_before_and_restored_after(chat, workspace):
    (workspace / "long.txt").write_text("a line of words\n" * 400)
    reads = [call("read_file", path="long.txt"), {"text": "Read."}]
    talk = chat(*reads, *reads, HI, rows=60).type("/compact").see("nothing to compact yet")
    assert "/compact\n\nnothing to compact" in talk.text, "one empty line, as above every answer"
    talk.type("read").see("Read.")
    talk.type("again").see("Read.", times=2)
    talk.type("/compact preview").see("compact-trim would shorten the conversation from")
    talk.type("/compact").see("compact-trim shortened the conversation from")
    talk.type("/compact restore").see("restored the conversation")
    talk.type("/compact restore").see("nothing to restore: this conversation was not compacted")
    talk.type("go on").see("Hello there.")


@pytest.mark.contract("G5")
@pytest.mark.parametrize("words", ["", " preview"])
def test_a_conversation_that_cannot_be_shortened_says_who_tried_and_what_to_do(chat, words):
    talk = chat(HI).type("hi").see("Hello there.").type(f"/compact{words}")
    text = " ".join(talk.see("/clear").see(" empty").text.split())
    tried = "compact-summary and compact-trim found no older part to leave out"
    assert f"nothing was shortened: {tried}, since the latest messages always stay" in text
    assert "/context shows what fills the window; /clear starts an" in text


@pytest.mark.contract("G5")
def test_without_a_plugin_that_compacts_the_chat_says_that_none_is_installed(chat, tmp_path):
    config = tmp_path / "config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins]\ndisable = ["compact-summary", "compact-trim"]\n')
    talk = chat(HI).type("hi").see("Hello there.").type("/compact")
    talk.see("no plugin that shortens conversations is installed and enabled")


@pytest.mark.contract("H3")
def test_a_command_from_a_file_gets_arguments_shell_output_and_files(chat, workspace, state):
    commands = workspace / ".nanocoder/commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text(
        "---\ndescription: look at one file\nargument-hint: FILE\n---\n"
        "Review $1 as $2. Today: !`echo from the shell`. See @hello.py\n"
    )
    talk = chat(HI).type("/help").see("/review FILE").see("look at one file")
    talk.type("/review hello.py 'a stranger'").see("Hello there.")
    (journal,) = (state / "sessions").glob("*.jsonl")
    (sent,) = [
        record["data"]
        for record in map(json.loads, journal.read_text().splitlines())
        if record["kind"] == "message" and record["data"]["role"] == "user"
    ]
    assert sent["typed"] == "/review hello.py 'a stranger'"
    assert "Review hello.py as a stranger. Today: from the shell" in sent["text"]
    assert "print('hello')" in sent["text"]


@pytest.mark.contract("H3")
def test_a_file_that_makes_no_command_is_reported_and_not_sent(chat, workspace):
    """CONF-022: nor one that has the name of a built-in command."""
    commands = workspace / ".nanocoder/commands"
    commands.mkdir(parents=True)
    texts = {"broken": "---\ndescription: x\nSend me.\n", "nothing": "---\na: b\n---\n \n"}
    texts |= {"odd": "---\n# note\ndescription broken\n---\nSend me.\n"}
    texts |= {"two words": "Hi.\n", "help": "Mine.\n", "init": "Mine.\n", "usage": "Mine.\n"}
    for name, text in texts.items():
        (commands / f"{name}.md").write_text(text)
    talk = chat(HI, columns=160)  # the paths of a test's folder are long
    text = " ".join(talk.text.split())
    for problem in (
        "broken.md:3: no line --- ends the head",
        "nothing.md:4: there is no text to send",
        "odd.md:3: 'description broken' is no `key: value`",
        "'two words' is no name of a command",
        "/help is built in",
        "/init is built in",
        "/usage is built in",
    ):
        assert text.count(problem) == 1
    talk.type("/broken").see("broken.md:3:", times=2)
    talk.type("/nothing").see("nothing.md:4:", times=2)
    assert "Hello there." not in talk.text


@pytest.mark.contract("H3")
def test_a_command_of_the_person_goes_before_the_projects_and_is_found_when_misspelt(
    chat, workspace, tmp_path
):
    own = tmp_path / "config/nanocoder/commands"
    for folder, text in ((workspace / ".nanocoder/commands", "theirs"), (own, "mine")):
        folder.mkdir(parents=True)
        (folder / "greet.md").write_text(f"# {text}\n")
    talk = chat(HI).type("/help").see("/greet").type("/gret").see("did you mean '/greet'?")
    assert "mine" in talk.text
    assert "theirs" not in talk.text


def test_a_note_is_kept_for_every_session(chat, state):
    chat(HI).type("/remember I like  tabs").see("Kept in").type("hi").see("Hello there.")
    assert (state / "notes.md").read_text() == "- I like tabs\n"


def test_requests_that_cost_nothing_are_called_free(chat):
    free = {**HI, "usage": {**HI["usage"], "cost": 0}}
    chat(free).type("one").see("Hello there.").type("/cost").see("free")


def test_a_resumed_conversation_says_since_when_it_counts(chat, start):
    talk = chat(HI).type("one").see("Hello there.").see("1 turn").press("\x04")
    assert talk.end() == 0
    again = start(["--continue"], HI).see("Hello there.").type("/cost")
    again.see("requests since the resume: input  0 tokens").see("nothing yet").press("\x04")
    assert again.end() == 0


@pytest.mark.contract("H9")
def test_the_cost_of_several_models_is_shown_for_each(chat, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"turns": [HI, HI]}))
    talk = chat(HI, HI).type("one").see("Hello there.").type("/cost").see("cost")
    talk.type(f"/model scripted/{other}").see("Switched").type("two").see("Hello there.", times=2)
    talk.type("/cost").see("other.json")


@pytest.mark.contract("H9")
def test_the_files_in_the_prompt_are_shown_at_the_start_with_their_tokens(chat, workspace):
    (workspace / "AGENTS.md").write_text("Run the tests after each change.\n")
    talk = chat(HI).see("The model reads AGENTS.md (").see("tokens)")
    talk.type("/context").see("files in it")


@pytest.mark.contract("G5")
@pytest.mark.rows(1)
@pytest.mark.parametrize("key", ["\x03", "\x1b"])
@pytest.mark.parametrize("words", ["", " preview"])
def test_a_compaction_is_stopped_and_leaves_the_conversation_as_it_was(chat, state, words, key):
    long = {"text": "word " * 60 + "END"}
    talk = chat({**long, "delay_s": 3}, long, long, HI, HI, rows=60)
    for number, prompt in enumerate(("one", "two", "three"), 1):
        talk.type(prompt).see("1 turn", times=number).see("ask · ")
    talk.type(f"/compact{words}").see("compacting · ").see("Ctrl-C stops")
    talk.press(key).see("stopped; the conversation is as it was")
    talk.type("four").see("Hello there.").see("1 turn", times=4)
    assert "^" not in talk.text  # no key was echoed
    (journal,) = (state / "sessions").glob("*.jsonl")
    kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
    assert "transcript.compacted" not in kinds
    assert kinds.count("message") == 8
    talk.type(f"/compact{words}").see("compact-summary " + ("would" if words else "shortened"))
    talk.type("five").see("1 turn", times=5)
    assert "interrupted" not in talk.text


@pytest.mark.contract("G5")
@pytest.mark.parametrize("words", ["", " preview"])
def test_a_stopped_compaction_that_comes_first_in_a_resumed_session_stops_nothing_else(
    chat, start, words
):
    long = {"text": " ".join(f"word{number}" for number in range(150)) + " END"}
    turns = [{**long, "delay_s": 3}, long, long, HI, HI]
    talk = chat(*turns, rows=60)
    for number, prompt in enumerate(("one", "two", "three"), 1):
        talk.type(prompt).see("1 turn", times=number).see("ask · ")
    talk.type("/exit").end()
    again = start(["sessions", "resume", "--mode", "ask"], *turns, rows=60).see("ask · ")
    again.type(f"/compact{words}").see("Ctrl-C stops")
    again.press("\x1b").see("stopped; the conversation is as it was")
    again.type(f"/compact{words}").see(
        "compact-summary " + ("would shorten" if words else "shortened")
    )
    again.type("four").see("1 turn")
    assert "interrupted" not in again.text


@pytest.fixture
def trimmed(chat, tmp_path):
    """A conversation of three prompts, which compact-trim alone can shorten."""
    config = tmp_path / "config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins]\ndisable = ["compact-summary"]\n')
    answers = [{"text": f"{'word ' * 60} END {number}"} for number in range(1, 5)]
    talk = chat(*answers, rows=70)
    for number, prompt in enumerate(("alpha", "beta", "gamma"), 1):
        talk.type(prompt).see(f"END {number}").see("1 turn", times=number).see("ask · ")
    return talk


@pytest.mark.contract("H9")
def test_where_no_tokens_were_counted_the_cost_estimates_what_the_context_holds(chat):
    talk = chat(HI).type("/context").see("together")
    total = re.search(r"together +([\d,]+)", talk.text).group(1)
    talk.type("/cost").see("all requests: input")
    assert re.search(rf"prompt, tools, conversation +{total} tokens", talk.text)


@pytest.mark.contract("G5")
def test_words_that_decide_nothing_are_named_and_what_is_shown_says_whose_it_is(trimmed):
    told = "compact-trim takes no words: 'the parser' did not decide what is kept"
    trimmed.type("/compact preview the parser").see("you: alpha").see("added for the model: ")
    trimmed.see(told).type("/compact the parser").see("compact-trim shortened").see(told, times=2)


@pytest.mark.contract("H9")
def test_after_a_compaction_status_cost_and_context_count_the_same(trimmed):
    trimmed.type("/compact").see("compact-trim shortened").type("/context").see("together")
    total = re.search(r"together +([\d,]+)", trimmed.text).group(1)
    trimmed.type("/cost").see("all requests: input")
    assert re.search(rf"prompt, tools, conversation +{total} tokens", trimmed.text)
    trimmed.see(f"· {total} tokens")


@pytest.mark.contract("G5")
@pytest.mark.rows(1)
@pytest.mark.parametrize("words", [["show"], ["export"], ["export", "--format", "html"]])
def test_a_transcript_has_all_that_was_said_before_a_compaction(trimmed, start, words):
    trimmed.type("/compact").see("compact-trim shortened").type("/exit").end()
    shown = start(["sessions", *words], rows=70, columns=200)
    shown.end()
    parts = ["alpha", "END 1", "beta", "END 2", "gamma", "END 3", "compact-trim shortened"]
    places = [shown.text.rindex(part) for part in parts]
    assert places == sorted(places)
    assert "left out to make room" not in shown.text
