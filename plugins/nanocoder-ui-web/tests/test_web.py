"""A session that browsers share: prompts, entries, approvals, and how it ends."""

import os
import signal
import threading

import pytest

pytestmark = pytest.mark.contract("D5")

WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}


def question_of(server, after=0):
    return server.until("question", after)[-1]


def test_a_prompt_becomes_entries_and_pieces_give_way_to_the_answer(web):
    server = web({"text": "**Done** <script>", "deltas": 8, "thinking": "Let me see"})
    server.login()
    with server.entries() as entries:
        live = [next(entries)["kind"]]
        assert live == ["state"]
        assert server.post("prompt", text="Say done").status_code == 200
        while live[-1] != "finished":
            live.append(next(entries)["kind"])
    assert live.index("prompt") < live.index("finished")
    later = server.until("finished")
    assert [entry["kind"] for entry in later if entry["kind"] in {"text", "thinking"}] == []
    (answer,) = [entry for entry in later if entry["kind"] == "answer"]
    assert "<strong>Done</strong> &lt;script&gt;" in answer["html"]
    assert later[-1]["unchanged"]  # the answer claims otherwise
    assert server.leave() == 0


def test_an_approved_call_runs_and_a_refused_one_tells_the_model_why(web, nanocoder):
    server = web({"calls": [WRITE]}, {"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    assert question["tool"] == "write_file"
    assert "medium risk" not in question["facts"], "the reason says it"
    assert "one" in question["html"]
    answer = {"question": question["question"], "digest": question["digest"]}
    refused = server.post("answer", **answer, approved=False, reason="not this file")
    assert refused.status_code == 200
    following = question_of(server, question["number"])
    answer = {"question": following["question"], "digest": following["digest"]}
    assert server.post("answer", **answer, approved=True).status_code == 200
    calls = [entry["html"] for entry in server.until("finished") if entry["kind"] == "call"]
    assert any("not this file" in html for html in calls)
    assert (nanocoder.cwd / "a.txt").read_text() == "one\n"


def test_the_first_of_two_browsers_decides(web, nanocoder):
    server = web({"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    answer = {"question": question["question"], "digest": question["digest"], "approved": True}
    statuses = []
    threads = [
        threading.Thread(
            target=lambda: statuses.append(server.post("answer", **answer).status_code)
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409]
    closed = server.until("closed", question["number"])[-1]
    assert (closed["question"], closed["outcome"]) == (question["question"], "approved")
    late = server.post("answer", **answer)
    assert (late.status_code, "not open any more" in late.json()["error"]) == (409, True)
    server.until("finished")
    assert (nanocoder.cwd / "a.txt").exists()


def test_an_answer_without_the_digest_of_the_call_is_a_refusal(web, nanocoder):
    server = web({"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    server.post("answer", question=question["question"], digest="0" * 64, approved=True)
    server.until("finished")
    assert not (nanocoder.cwd / "a.txt").exists()


def test_edited_arguments_run_and_unreadable_ones_leave_the_question_open(web, nanocoder):
    server = web({"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    answer = {"question": question["question"], "digest": question["digest"], "approved": True}
    bad = server.post("answer", **answer, edited='{"path": ')
    assert bad.status_code == 400
    edited = question["arguments"].replace("one", "two")
    assert server.post("answer", **answer, edited=edited).status_code == 200
    server.until("finished")
    assert (nanocoder.cwd / "a.txt").read_text() == "two\n"


def test_always_is_no_wider_than_the_rules_that_are_offered(web):
    other = {"name": "write_file", "arguments": {"path": "b.txt", "content": "two\n"}}
    server = web({"calls": [WRITE]}, {"calls": [other]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write two files")
    question = question_of(server)
    assert (question["always"], question["grants"]) == ("", ["write_file(a.txt)"])
    answer = {"question": question["question"], "digest": question["digest"]}
    server.post("answer", **answer, approved=True, always=True)
    assert question_of(server, question["number"])["tool"] == "write_file"


def test_a_rule_for_some_calls_is_asked_about_again_after_them(web):
    server = web(*[{"calls": [WRITE]}] * 3, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write it thrice")
    question = question_of(server)
    answer = {"question": question["question"], "digest": question["digest"]}
    server.post("answer", **answer, approved=True, scope="session", uses=1)
    again = question_of(server, question["number"])
    assert again["tool"] == "write_file"
    server.post("answer", question=again["question"], digest=again["digest"], approved=False)
    calls = [entry for entry in server.until("finished") if entry["kind"] == "call"]
    assert len(calls) == 3


def test_an_edited_call_is_approved_once_whatever_else_was_chosen(web, nanocoder):
    edited = '{"path": "a.txt", "content": "three\\n"}'
    server = web({"calls": [WRITE]}, {"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write it twice")
    question = question_of(server)
    answer = {"question": question["question"], "digest": question["digest"]}
    server.post("answer", **answer, approved=True, scope="session", edited=edited)
    question_of(server, question["number"])
    assert (nanocoder.cwd / "a.txt").read_text() == "three\n"


def test_a_question_of_a_tool_is_answered_in_the_persons_words(web):
    ask = {"name": "ask_user", "arguments": {"question": "Which?", "choices": ["a", "b"]}}
    server = web({"calls": [ask]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Ask me")
    question = question_of(server)
    assert question["text"].startswith("Which?")
    assert server.post("answer", question=question["question"], text="neither").status_code == 200
    calls = [entry["html"] for entry in server.until("finished") if entry["kind"] == "call"]
    assert any("neither" in html for html in calls)


def test_a_prompt_while_it_works_goes_with_the_next_request(web):
    server = web({"calls": [WRITE]}, {"text": "First."}, {"text": "Second."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    server.post("prompt", text="And be quick")
    answer = {"question": question["question"], "digest": question["digest"]}
    server.post("answer", **answer, approved=True)
    entries = server.until("finished")
    prompts = [entry["text"] for entry in entries if entry["kind"] == "prompt"]
    assert prompts == ["Write a file", "And be quick"]


def test_stop_ends_what_runs_and_the_next_prompt_works(web):
    server = web({"calls": [WRITE]}, {"text": "Done."}, {"text": "Later."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    assert server.post("stop").status_code == 200
    finished = server.until("finished", question["number"])[-1]
    assert finished["text"] == "Stopped."
    assert server.post("prompt", text="Go on").status_code == 200
    server.until("finished", finished["number"])


def test_ctrl_c_stops_a_run_first_and_then_leaves(web, nanocoder):
    server = web({"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write a file")
    question = question_of(server)
    server.process.send_signal(signal.SIGINT)
    server.until("finished", question["number"])
    assert server.process.poll() is None
    assert server.leave() == 0
    *_, stopped, way_back = server.process.stdout.read().splitlines()
    assert stopped == "Stopped what runs. Ctrl-C again leaves."
    session = way_back.removeprefix("To continue: nanocoder web --resume ")
    assert session in nanocoder("sessions", "list").stdout
    assert web({"text": "Hi."}).leave(signal.SIGTERM) == 128 + signal.SIGTERM


def test_the_mode_changes_what_is_asked(web, nanocoder):
    server = web({"calls": [WRITE]}, {"text": "Done."})
    server.login()
    wrong = server.post("mode", mode="yolo")
    assert (wrong.status_code, "there is no mode 'yolo'" in wrong.json()["error"]) == (400, True)
    assert server.post("mode", mode="edits").status_code == 200
    server.post("prompt", text="Write a file")
    kinds = [entry["kind"] for entry in server.until("finished")]
    assert "question" not in kinds
    assert (nanocoder.cwd / "a.txt").exists()


def test_turns_have_tokens_and_times_and_a_session_goes_on_elsewhere(web, nanocoder):
    usage = {"input_tokens": 1_000, "output_tokens": 20, "cache_read_tokens": 600}
    server = web({"text": "First.", "usage": usage}, {"text": "Second."})
    server.login()
    server.post("prompt", text="Say first")
    (turn,) = [entry for entry in server.until("finished") if entry["kind"] == "turn"]
    assert (turn["input_tokens"], turn["cached_tokens"], turn["output_tokens"]) == (1_000, 600, 20)
    assert turn["model_s"] >= 0
    assert server.leave() == 0
    resumed = web({"text": "First."}, {"text": "Second."}, words=("--resume", "last"))
    resumed.login()
    shown = resumed.until("state")
    assert [entry["kind"] for entry in shown] == ["prompt", "answer", "state"]


def test_a_port_that_is_taken_is_an_error_in_words(web, nanocoder):
    server = web({"text": "Hi."})
    port = server.origin.rpartition(":")[2]
    done = nanocoder("web", "--port", port)
    assert done.returncode == 2
    assert done.stderr.startswith(f"nanocoder: cannot listen on port {port}: ")
    assert nanocoder("web", "--port", "70000").returncode == 2


@pytest.fixture
def for_two(web, nanocoder):
    """Serve a session that wants to write a file, for which two people have to say yes."""
    config = nanocoder.home / ".config" / "nanocoder" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        '[plugins.profile-high-control]\nactive = true\npersons = 2\ntools = ["write_file"]\n'
    )
    server = web({"calls": [WRITE]}, {"text": "Done."})
    server.login()
    server.post("prompt", text="Write a file")
    return server


@pytest.mark.contract("W13")
@pytest.mark.parametrize(("names", "is_written"), [(("Ann", "Bob"), True), (("Ann", "ann"), False)])
def test_two_people_approve_a_call_each_by_a_name_of_their_own(
    for_two, nanocoder, names, is_written
):
    server = for_two
    first = question_of(server)
    answer = {"question": first["question"], "digest": first["digest"], "approved": True}
    server.post("answer", **answer, actor=names[0])
    question = question_of(server, first["number"])
    answer = {"question": question["question"], "digest": question["digest"], "approved": True}
    again = server.post("answer", **answer, actor=names[1])  # another name makes no other person
    assert again.status_code == 400
    assert "this browser has approved the call already" in again.json()["error"]
    assert server.login(server.post("invite").json()["token"]).is_success
    assert server.post("answer", **answer, actor=names[1]).is_success
    server.until("finished")
    assert "approved by Ann" in question["facts"]
    assert (nanocoder.cwd / "a.txt").exists() == is_written


def test_the_first_person_may_still_refuse_what_waits_for_the_second(for_two, nanocoder):
    server = for_two
    question, last = None, 0
    for is_yes in (True, False):
        question = question_of(server, last)
        last = question["number"]
        answer = {"question": question["question"], "digest": question["digest"]}
        assert server.post("answer", **answer, approved=is_yes, actor="Ann").is_success
    server.until("finished")
    assert not (nanocoder.cwd / "a.txt").exists()


def test_enter_in_the_terminal_makes_a_link_for_a_tab_that_was_closed(web):
    keyboard, stdin = os.openpty()
    first = web({"text": "Never."}, stdin=stdin)
    os.close(stdin)
    assert first.login().status_code == 200
    os.write(keyboard, b"\n")
    lines = iter(first.process.stdout.readline, "")
    link = next(line.strip() for line in lines if line.startswith("http"))
    assert link.startswith(f"{first.origin}/#")
    assert first.login(link.partition("#")[2]).status_code == 200
    assert first.login().status_code == 401
    assert first.leave() == 0
    os.close(keyboard)
