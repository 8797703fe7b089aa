"""What a run looks like in a real terminal."""

import io
import re
import time

import pytest
from nanocoder import ApprovalRequest, Risk, ToolCall
from nanocoder_ui_terminal.call_lines import Call, LineLimits, returned_lines
from nanocoder_ui_terminal.preview import describe_request
from nanocoder_ui_terminal.terminal import Terminal, columns_of, fold

pytestmark = pytest.mark.timeout(90)


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


MARKDOWN = """# Plan

I found **two** problems:

1. first
2. second, with `code`

```python
def f():
    return "x"
```

| name | value |
|------|------:|
| a    |     1 |

Last
line.
"""


@pytest.mark.contract("NT-46")
def test_read_write_check_and_answer_in_one_run(run, workspace):
    talk = run(
        {"text": "Reading first.", **call("read_file", path="hello.py")},
        call("write_file", path="hello.py", content="print('bye')\n"),
        call("bash", command="python3 hello.py > out.txt; cat out.txt"),
        {"text": "It says **bye** now.", "deltas": 5, "usage": {"output_tokens": 7}},
    )
    talk.see("Approve?").type("y")
    talk.see("Approve?", times=2).type("y").see("It says bye now.")
    assert talk.end() == 0
    assert (workspace / "out.txt").read_text() == "bye\n"
    lines = talk.text.splitlines()
    order = ["Reading first.", "• read_file hello.py", "-print('hello')", "• write_file hello.py"]
    order += ["• bash python3", "  bye", "It says bye now.", "4 turns · 0 in, 7 out"]
    places = [next(n for n, line in enumerate(lines) if part in line) for part in order]
    assert places == sorted(places)


def test_what_the_provider_has_to_say_stands_above_the_answer(run):
    talk = run({"text": "It is done.", "notice": "An old result was left out."})
    assert talk.end() == 0
    assert talk.text.index("An old result was left out.") < talk.text.index("It is done.")


def test_what_the_model_does_just_now_stands_in_the_status_line_and_passes(run):
    talk = run({"text": "It is done.", "progress": "reading the prompt, 34 %", "delay_s": 1})
    assert talk.end() == 0
    assert "reading the prompt, 34 % · " in talk.raw
    assert "reading the prompt" not in talk.text


def test_markdown_is_drawn_the_same_whether_it_streams_or_not(run):
    at_once = run({"text": MARKDOWN})
    assert at_once.end() == 0
    streamed = run({"text": MARKDOWN, "deltas": 200})
    assert streamed.end() == 0
    expected = at_once.text.rpartition("\n")[0]
    assert streamed.text.rpartition("\n")[0] == expected
    for part in ("Plan\n", "I found two problems:", " 1. first", "  def f():", "Last\nline."):
        assert part in expected
    assert "**" not in expected
    assert "```" not in expected


def test_twenty_thousand_pieces_are_drawn_whole(run):
    text = "\n\n".join(f"Paragraph {number} of many words." for number in range(1_000))
    talk = run({"text": text, "deltas": 20_000}, rows=30)
    assert talk.end() == 0
    paragraphs = [line for line in talk.text.splitlines() if line.startswith("Paragraph")]
    assert paragraphs == [f"Paragraph {number} of many words." for number in range(1_000)]


HOSTILE = (
    "Model: \x1b[2J\x1b[31m \x1b]52;c;eA==\x07 \x1b]0;title\x07 \x9b31m \u202eevil\u202c \u200b"
    " [/x] [bold]no[/bold] &#x202e; <b>html</b> ![pic](http://x/y) \r over\b\b"
)


# INJ-052
def test_hostile_text_of_the_model_is_shown_inert(run):
    talk = run({"text": HOSTILE, "deltas": 40})
    assert talk.end() == 0
    for bad in ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\u200b", "\x07", "\b"):
        assert bad not in talk.raw
    for text in ("\\x1b[2J", "\\x1b]52;c;eA==\\x07", "\\u202eevil", "[bold]no[/bold]"):
        assert text in talk.text
    for text in ("&#x202e;", "<b>html</b>", "[image: pic]"):
        assert text in talk.text


# INJ-040, 053
def test_hostile_names_arguments_and_results_are_shown_inert(run, workspace):
    (workspace / "evil.txt").write_text("\x1b]52;c;eA==\x07 [/x] \u202e\n")
    bad = {"name": "\x1b[2Jbash", "arguments": {"\x1b]0;x\x07": "\x1b[31m"}}
    talk = run(
        {"calls": [bad]},
        call("bash", command="cat evil.txt; printf '\\033[2J\\033]0;t\\007'; exit 3"),
        call("read_file", path="\x1b]52;c;eA==\x07.txt"),
        {"error": {"message": "\x1b[2J\x1b]52;c;eA==\x07bad key"}},
    )
    talk.see("Approve?").type("y").see("bad key")
    assert talk.end() == 4
    for bad in ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\x07"):
        assert bad not in talk.raw
    assert "\\x1b[2Jbash" in talk.text
    assert "exit 3" in talk.text


def test_while_nothing_comes_the_clock_goes_on_and_then_is_gone(run):
    talk = run({"text": "Late.", "delay_s": 2.5})
    talk.see("waiting for scripted/").see("· 2.").see("Late.")
    assert talk.end() == 0
    assert "waiting" not in talk.text


def test_the_cursor_and_the_echo_come_back(run):
    talk = run({"text": "Hi.", "delay_s": 1})
    assert talk.end() == 0
    assert talk.raw.rfind("\x1b[?25h") > talk.raw.rfind("\x1b[?25l") > 0


def test_an_interrupt_stops_the_run_and_says_so(run):
    talk = run({"text": "Late.", "delay_s": 60}).see("waiting").press("\x03")
    assert talk.end() == 130
    assert "interrupted" in talk.text


def test_a_change_that_needed_no_question_shows_its_diff(start, workspace):
    turns = [call("write_file", path="hello.py", content="print('bye')\n"), {"text": "Done."}]
    talk = start(["run", "--mode", "auto", "go"], *turns)
    assert talk.end() == 0
    assert "• write_file hello.py  +1 -1" in talk.text
    assert "  -print('hello')" in talk.text
    assert "Approve?" not in talk.text


def test_a_new_file_shows_its_first_lines_as_a_diff(start):
    content = "".join(f"line {number}\n" for number in range(40))
    turns = [call("write_file", path="new.py", content=content), {"text": "Done."}]
    talk = start(["run", "--mode", "auto", "go"], *turns)
    assert talk.end() == 0
    assert "• write_file new.py  +40 -0" in talk.text
    for part in ("  @@ -0,0 +1,40 @@", "  +line 0\n", "more lines"):
        assert part in talk.text
    assert "line 39" not in talk.text


def test_the_line_of_an_edit_leaves_the_texts_to_the_diff(start):
    edit = call("edit_file", path="hello.py", old_string="hello", new_string="bye")
    talk = start(["run", "--mode", "auto", "go"], edit, {"text": "Done."})
    assert talk.end() == 0
    assert "• edit_file hello.py  +1 -1" in talk.text
    assert "+print('bye')" in talk.text


def test_the_line_of_a_command_shows_where_its_lines_end(run):
    talk = run(call("bash", command="cd /tmp\nls -d /tmp\n"), {"text": "Done."})
    talk.see("Approve?").type("y")
    assert talk.end() == 0
    assert "• bash cd /tmp ⏎ ls -d /tmp" in talk.text


def test_the_line_of_a_call_has_words_for_lists_and_objects(run):
    todos = [{"content": "look", "status": "completed"}, {"content": "fix"}]
    shell = call("bash", command="ls", background=True)
    talk = run(call("todo_write", todos=todos), shell, {"text": "Done."}).see("Done.")
    talk.see("todo_write look, fix").see("bash ls  background=true")
    # What the result has for the person stands beneath.
    assert "\n  [x] look\n  [ ] fix\n" in talk.text


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
def test_the_last_line_names_what_changed_and_where(start, tmp_path, elsewhere):
    folder = tmp_path / "other"
    folder.mkdir()
    turns = [
        {"calls": [call("write_file", path=f"{n}.py", content="x\n")["calls"][0] for n in "abcd"]},
        {"text": "Done."},
    ]
    place = ["--cwd", str(folder)] if elsewhere else []
    talk = start(["run", "--mode", "auto", *place, "go"], *turns, columns=250)
    assert talk.end() == 0
    where = f" in {folder}" if elsewhere else ""
    assert talk.text.endswith(f" · changed a.py, b.py, c.py and 1 more{where}")


def test_a_run_without_a_change_says_so_whatever_the_answer_claims(start):
    claim = {"text": "Done: the docstring was added."}
    talk = start(["run", "--mode", "edits", "go"], call("read_file", path="hello.py"), claim)
    talk.see("Done: the docstring").see("no file was changed")


def test_the_time_that_a_person_takes_does_not_count(run):
    talk = run(call("write_file", path="new.py", content="x\n"), {"text": "Done."})
    talk.see("Approve?")
    time.sleep(4)
    talk.type("y").see("Done.")
    assert talk.end() == 0
    last = talk.text.splitlines()[-1]
    took = re.search(r"([\d.]+) (m?s) · changed new.py", last)
    assert took, last
    assert float(took[1]) / (1000 if took[2] == "ms" else 1) < 4


def test_colours_are_left_out_where_nobody_wants_them(run):
    talk = run({"text": "**Hi**\n\n```python\nx = 1\n```"}, env={"NO_COLOR": "1"})
    assert talk.end() == 0
    assert re.search(r"\x1b\[[\d;]*m", talk.raw) is None


def test_a_terminal_that_cannot_be_painted_over_gets_plain_lines(run):
    talk = run({"text": "**Hi** there.", "deltas": 3}, env={"TERM": "dumb"})
    assert talk.end() == 0
    assert "\x1b" not in talk.raw
    assert "Hi there." in talk.text


def test_a_narrow_terminal_loses_nothing(run):
    words = " ".join(f"word{number}" for number in range(60))
    talk = run({"text": words, "deltas": 30}, columns=24)
    assert talk.end() == 0
    assert " ".join(talk.text.split()).startswith(words)


def test_plan_mode_ends_with_the_word_that_nothing_was_changed(start):
    claim = {"text": "Done: the docstring was added."}
    talk = start(["run", "--mode", "plan", "go"], claim).see("Done: the docstring")
    talk.see("plan mode: nothing was changed")


def test_a_run_with_a_command_says_nothing_of_files_that_it_cannot_know(start):
    claim = {"text": "Done."}
    talk = start(["run", "--mode", "auto", "go"], call("bash", command="true"), claim)
    talk.see("2 turns")
    assert talk.end() == 0
    assert "no file was changed" not in talk.text


def test_a_narrow_window_still_says_how_to_stop(start):
    late = {"text": "Late.", "delay_s": 60}
    talk = start(["run", "--mode", "ask", "go"], late, columns=40).see("s · Ctrl-C stops")
    assert "waiting f" in talk.text


def test_a_long_error_is_shown_from_its_beginning_and_wrapped_between_words():
    words = " ".join(f"word{number}" for number in range(80))
    data = {"status": "error", "output": words, "error_class": "not_found", "metadata": {}}
    call = Call("edit_file", {"path": "a.py"})

    _, *body = returned_lines(call, data, Terminal(io.StringIO()), LineLimits(9, 9, error=3))

    *lines, more = [line.strip() for line in body]
    assert words.startswith(" ".join(lines))
    assert [line.split()[0][:4] for line in lines] == ["word"] * 3
    assert len(lines[0]) > 70
    assert "more lines" in more


def test_the_line_of_a_patch_names_its_files_and_counts(start):
    update = "*** Update File: hello.py\n@@\n-print('hello')\n+x\n"
    patch = f"*** Begin Patch\n*** Add File: a.py\n+one\n{update}*** End Patch\n"
    calls = {"calls": [{"name": "apply_patch", "arguments": {"patch": patch}}]}
    talk = start(["run", "--mode", "auto", "go"], calls, {"text": "All done."}).see("All done.")
    assert "\u2022 apply_patch a.py, hello.py  +2 -1" in talk.text


def test_a_question_about_a_call_without_arguments_has_no_empty_lines():
    request = ApprovalRequest(
        "1", 1, ToolCall("1", "stop_all", {}), "d", Risk.DANGEROUS, always="it"
    )
    text, is_clipped = describe_request(request, Terminal(io.StringIO()))
    assert text.splitlines()[-2:] == ["│", "│ a allows it"]
    assert "│\n│\n" not in text
    assert not is_clipped


@pytest.mark.parametrize("columns", [40, 80])
def test_words_are_not_broken_where_a_line_can_be_broken_between_them(run, columns):
    words = "internationalization of configuration documentation implementations " * 6
    answer = f"{words}\n\n```\n{words}\n```\n"
    talk = run({"text": answer}, columns=columns).see("1 turn")
    shown = set(talk.text.rpartition("1 turn")[0].split())
    assert set(words.split()) <= shown
    assert not [word for word in shown if word in words and word not in words.split()]


@pytest.mark.parametrize("text", ["", "a b/c " * 40, "x" * 99, "日本 語" * 20, "a" + "\u0301" * 50])
def test_folding_loses_nothing_and_keeps_to_the_columns(text):
    lines = fold(text, 20)
    assert "".join(lines) == text
    assert max(map(columns_of, lines)) <= 20


def test_a_failure_of_a_plugin_is_said_once(run, chat):
    nowhere = {"XDG_STATE_HOME": "/dev/null"}
    failure = "plugin 'telemetry-log': /dev/null/nanocoder/log/nanocoder.jsonl cannot be written"
    alone = run({"text": "Done."}, env=nowhere, columns=200)
    alone.end()
    assert alone.text.count(failure) == 1
    talk = chat({"text": "Done."}, {"text": "Again."}, env=nowhere, columns=200)
    talk.type("go").see("Done.").type("again").see("Again.").press("\x04").end()
    assert talk.text.count(failure) == 1
