"""`nanocoder batch` as its users run it: real processes, real sandboxes, scripted models."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest
from check_outputs import check_outputs  # noqa: F401
from command_line import COMMAND

pytestmark = pytest.mark.timeout(240)

WRITES = {
    "turns": [
        {
            "calls": [{"name": "write_file", "arguments": {"path": "out.txt", "content": "hi\n"}}],
            "usage": {"input_tokens": 100, "output_tokens": 20, "cost": 0.001},
        },
        {"text": "done", "usage": {"input_tokens": 120, "output_tokens": 5, "cost": 0.001}},
    ]
}


class Fleet:
    """A folder with a script and tasks, and what a batch left of them."""

    def __init__(self, nanocoder):
        self.nanocoder = nanocoder
        self.folder = nanocoder.cwd
        (self.folder / "source").mkdir()
        (self.folder / "source" / "a.py").write_text("print(1)\n")
        self.scripts({"writes": WRITES, "slow": {"turns": [{"text": "done", "delay_s": 20}]}})

    def scripts(self, scripts):
        for name, script in scripts.items():
            (self.folder / f"{name}.json").write_text(json.dumps(script))

    def tasks(self, *tasks):
        rows = [
            {"prompt": "write", "model": self.model("writes"), "mode": "auto", "cwd": "source"}
            | task
            for task in tasks
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / "tasks.jsonl").write_text(text)

    def model(self, name):
        return f"scripted/{self.folder / name}.json"

    def run(self, *words, **options):
        return self.nanocoder(
            "batch",
            "tasks.jsonl",
            "--results",
            "results",
            "--yes",
            *words,
            **{"timeout": 200, **options},
        )

    def start(self, *words):
        command = [str(Path(os.sys.executable).with_name("nanocoder")), "batch", "tasks.jsonl"]
        return subprocess.Popen(
            [*command, "--results", "results", "--yes", *words],
            cwd=self.folder,
            env=self.nanocoder.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def results(self):
        path = self.folder / "results" / "results.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def wait_for_results(self, count):
        deadline = time.monotonic() + 100
        while len(self.results) < count:
            assert time.monotonic() < deadline, "no results"
            time.sleep(0.05)


@pytest.fixture
def fleet(nanocoder):
    return Fleet(nanocoder)


@pytest.mark.contract("K1")
def test_each_task_has_one_line_with_its_outcome_and_artifacts_beside_it(fleet):
    fleet.tasks(
        {"id": "good", "check": "test -f out.txt", "seed": 7},
        {"id": "bad", "check": "echo looked; test $NANOCODER_SEED = 8", "seed": 7},
        {"id": "plain"},
    )
    done = fleet.run()
    assert (done.returncode, done.stderr) == (1, "")
    results = {result["id"]: result for result in fleet.results}
    assert sorted(results) == ["bad", "good", "plain"]
    assert {name: result["checked"] for name, result in results.items()} == {
        "good": True,
        "bad": False,
        "plain": None,
    }
    good = results["good"]
    assert (good["stop_reason"], good["files_changed"]) == ("done", ["out.txt"])
    assert good["cost"] == pytest.approx(0.002)
    assert (good["usage"]["input_tokens"], good["usage"]["output_tokens"]) == (220, 25)
    artifacts = fleet.folder / "results" / "artifacts"
    assert "+hi" in (artifacts / good["key"] / "changes.patch").read_text()
    assert "looked" in (artifacts / results["bad"]["key"] / "check.txt").read_text()
    assert not (fleet.folder / "source" / "out.txt").exists()
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds == ["batch.started", *["task.finished"] * 3, "batch.finished"]


def test_a_patch_applies_to_what_the_task_began_with(fleet):
    fleet.tasks({"id": "one"})
    assert fleet.run().returncode == 0
    patch = fleet.folder / "results" / "artifacts" / fleet.results[0]["key"] / "changes.patch"
    subprocess.run(["git", "apply", patch], cwd=fleet.folder / "source", check=True)
    assert (fleet.folder / "source" / "out.txt").read_text() == "hi\n"


def test_a_revision_is_a_worktree_of_that_commit(fleet):
    source = fleet.folder / "source"
    for words in (
        ["init", "-q"],
        ["add", "a.py"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *words], cwd=source, check=True)
    (source / "a.py").write_text("print(2)\n")
    check = "grep -q 'print(1)' a.py && test -f out.txt"
    fleet.tasks({"id": "one", "revision": "HEAD", "check": check})
    assert fleet.run().returncode == 0
    assert fleet.results[0]["files_changed"] == ["out.txt"]
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=source, check=True, capture_output=True, text=True
    )
    assert len(listed.stdout.splitlines()) == 1
    folder = fleet.folder / "results" / "artifacts" / fleet.results[0]["key"]
    assert "+hi" in (folder / "changes.patch").read_text()


def test_the_patch_of_a_worktree_leaves_out_what_is_too_large(fleet):
    source = fleet.folder / "source"
    (source / "old.bin").write_bytes(os.urandom(2_000_000))
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *words], cwd=source, check=True)
    command = "head -c 30000000 /dev/urandom > 'big [1].bin'; rm old.bin; echo hi > out.txt"
    call = {"name": "bash", "arguments": {"command": command}}
    fleet.scripts({"large": {"turns": [{"calls": [call]}, {"text": "done"}]}})
    fleet.tasks({"id": "one", "revision": "HEAD", "model": fleet.model("large")})
    assert fleet.run().returncode == 0
    folder = fleet.folder / "results" / "artifacts" / fleet.results[0]["key"]
    patch = (folder / "changes.patch").read_text()
    notes = [f"# file too large for a patch: {name!r}" for name in ("big [1].bin", "old.bin")]
    assert patch.splitlines()[:2] == notes
    assert "+hi" in patch
    assert len(patch) < 1_000


def test_a_second_start_skips_what_is_there_and_works_on_what_changed(fleet):
    fleet.tasks({"id": "a"}, {"id": "b"})
    assert fleet.run().returncode == 0
    first = {result["id"]: result["session_id"] for result in fleet.results}
    fleet.tasks({"id": "a"}, {"id": "b", "prompt": "another"}, {"id": "c"})
    done = fleet.run()
    assert json.loads(done.stdout.splitlines()[0])["skipped"] == 1
    second = {result["id"]: result["session_id"] for result in fleet.results}
    assert len(fleet.results) == 3
    folders = {path.name for path in (fleet.folder / "results" / "artifacts").iterdir()}
    assert folders == {result["key"] for result in fleet.results}
    assert second["a"] == first["a"]
    assert second["b"] != first["b"]
    forced = fleet.run("--force")
    assert json.loads(forced.stdout.splitlines()[0])["skipped"] == 0
    assert sorted(result["id"] for result in fleet.results) == ["a", "b", "c"]
    assert {result["id"]: result["session_id"] for result in fleet.results}["a"] != first["a"]


def test_a_key_that_is_none_removes_nothing_outside(fleet):
    fleet.tasks({"id": "a"})
    assert fleet.run().returncode == 0
    (fleet.folder / "results" / "mine.txt").write_text("mine")
    path = fleet.folder / "results" / "results.jsonl"
    path.write_text(json.dumps(fleet.results[0] | {"key": ".."}) + "\n")
    assert fleet.run().returncode == 0
    assert (fleet.folder / "results" / "mine.txt").read_text() == "mine"


def test_failed_tasks_alone_run_again_where_that_is_asked(fleet):
    fleet.tasks({"id": "a"}, {"id": "b", "model": fleet.model("missing")})
    assert fleet.run().returncode == 1
    failed = next(result for result in fleet.results if result["id"] == "b")
    assert failed["error"]["kind"] == "not_found"
    fleet.scripts({"missing": WRITES})
    done = fleet.run("--retry-failed")
    assert (done.returncode, len(fleet.results)) == (0, 2)
    assert json.loads(done.stdout.splitlines()[0])["skipped"] == 1


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(fleet):
    fleet.tasks(*({"id": f"quick{n}"} for n in range(3)), {"id": "s", "model": fleet.model("slow")})
    batch = fleet.start("--workers", "2")
    fleet.wait_for_results(3)
    batch.send_signal(signal.SIGINT)
    out, err = batch.communicate(timeout=60)
    assert (batch.returncode, err) == (130, "")
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert len(fleet.results) == 3
    fleet.scripts({"slow": WRITES})
    assert fleet.run().returncode == 0
    assert sorted(result["id"] for result in fleet.results) == ["quick0", "quick1", "quick2", "s"]


def test_a_kill_in_the_middle_and_a_second_start_do_each_task_once(fleet):
    fleet.tasks(*({"id": f"t{n}"} for n in range(12)))
    batch = fleet.start("--workers", "2")
    fleet.wait_for_results(3)
    batch.kill()
    batch.communicate()
    done_before = len(fleet.results)
    # A line that the kill has cut is no result.
    with (fleet.folder / "results" / "results.jsonl").open("a") as file:
        file.write('{"id": "t11", "key"')
    assert fleet.run("--workers", "2").returncode == 0
    assert sorted(result["id"] for result in fleet.results) == sorted(f"t{n}" for n in range(12))
    assert 3 <= done_before < 12


def test_two_batches_do_not_share_a_directory(fleet):
    fleet.tasks({"id": "s", "model": fleet.model("slow")})
    batch = fleet.start()
    deadline = time.monotonic() + 60
    while not (fleet.folder / "results" / "lock").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    second = fleet.run()
    batch.terminate()
    batch.communicate(timeout=60)
    assert second.returncode == 2
    assert "another batch works in results" in second.stderr


UNFIT = '{"name": "a b", "description": "", "parameters": {}}'
BAD = {
    '{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}': ":2: the id 'a' is already that of",
    "nope": ":1: not JSON",
    "[1]": ":1: a task is a JSON object, not list",
    '{"id": "a", "promt": "x"}': "there is no key 'promt'; did you mean 'prompt'?",
    '{"id": "a"}': "prompt is missing",
    '{"prompt": "x"}': "id is missing",
    '{"id": "", "prompt": "x"}': "id: a text is needed",
    '{"id": 3, "prompt": "x"}': "id: a text is needed",
    '{"id": "a", "prompt": "x", "mode": "aut"}': "there is no mode 'aut'; did you mean 'auto'?",
    '{"id": "a", "prompt": "x", "model": "gpt"}': "'gpt' is not provider/model",
    '{"id": "a", "prompt": "x", "model": "nope/gpt"}': "there is no provider 'nope'",
    '{"id": "a", "prompt": "x", "set": "nope"}': "there is no set 'nope'",
    '{"id": "a", "prompt": "x", "cwd": "nope"}': "there is no directory",
    f'{{"id": "a", "prompt": "x", "cwd": "{"n" * 5000}"}}': ":1: cwd: there is no",
    '{"id": "a", "prompt": "x", "revision": "nope"}': "has no commit 'nope'",
    '{"id": "a", "prompt": "x", "revision": "\\u0000"}': "has no commit",
    '{"id": "a", "prompt": "x", "budget": {"max_seconds": 1e300}}': "max_seconds is at most",
    '{"id": "a", "prompt": "x", "seed": true}': "seed: True is not a whole number",
    '{"id": "a", "prompt": "x", "budget": -1}': "max_cost is a number above 0, not -1",
    '{"id": "a", "prompt": "x", "budget": {"cost": 1}}': "did you mean 'max_cost'?",
    '{"id": "a", "prompt": "x", "budget": {"max_turns": 1.5}}': "max_turns is a whole number",
    '{"id": "a", "prompt": "x", "functions": "f"}': "functions: 'f' is not a list",
    '{"id": "a", "prompt": "x", "functions": [{"name": "f"}]}': "functions: number 1: expected",
    f'{{"id": "a", "prompt": "x", "functions": [{UNFIT}]}}': "'a b' cannot be the name",
    "": "has no task",
}


@pytest.mark.rows(8)
@pytest.mark.parametrize("lines", BAD)
def test_bad_tasks_stop_the_batch_before_anything_is_written(fleet, lines):
    (fleet.folder / "tasks.jsonl").write_text(f"{lines}\n")
    done = fleet.run()
    assert done.returncode == 2
    assert BAD[lines] in done.stderr
    assert "Traceback" not in done.stderr
    assert not (fleet.folder / "results").exists()


def test_every_bad_line_is_named_at_once(fleet):
    (fleet.folder / "tasks.jsonl").write_text("nope\n" * 30)
    done = fleet.run()
    assert "30 problems in the tasks; nothing was started" in done.stderr
    assert "tasks.jsonl:20:" in done.stderr
    assert "and 10 more" in done.stderr


def test_the_runner_and_the_directory_must_be_named_right(fleet):
    fleet.tasks({"id": "a"})
    assert (
        "there is no runner 'thread'; did you mean 'threads'?"
        in fleet.run("--runner", "thread").stderr
    )
    missing = fleet.nanocoder("batch", "-")
    assert (missing.returncode, "--results DIR" in missing.stderr) == (2, True)
    unnamed = fleet.nanocoder("batch", "tasks.jsonl", "--runner", "thread").stderr
    assert "the results go into tasks-results; --results DIR takes another" in unnamed
    missing = fleet.nanocoder("batch", "nope.jsonl")
    assert (missing.returncode, "nope.jsonl" in missing.stderr) == (2, True)
    assert "required: TASKS;" in fleet.nanocoder("batch").stderr
    assert fleet.run("--workers", "0").returncode == 2


def test_on_a_terminal_a_bar_shows_rate_cost_and_failures(fleet):
    fleet.tasks({"id": "a"}, {"id": "b", "check": "false"})
    printed = fleet.nanocoder.on_terminal(
        "batch", "tasks.jsonl", "--results", "results", "--yes", code=1
    )
    assert "2/2" in printed
    assert "failed: b: check_failed" in printed
    assert "1 of 2 solved, 1 failed, $0.0040" in printed
    assert "results/summary.html" in printed


def test_the_summary_is_one_page_that_loads_nothing(fleet):
    fleet.tasks({"id": "<b>bad</b>", "check": "false"}, {"id": "good"})
    fleet.run()
    page = (fleet.folder / "results" / "summary.html").read_text()
    assert page.count("<svg") == 5
    assert "50.0%" in page
    assert "check_failed" in page
    assert "&lt;b&gt;bad&lt;/b&gt;" in page
    assert "default-src 'none'" in page
    for loaded in ("<script", "src=", "href=", "@import", "url("):
        assert loaded not in page


# CONF-028
def test_nothing_starts_before_a_person_has_seen_the_checks_of_a_file(fleet):
    mark = fleet.folder / "mark"
    checks = [f"touch {mark}", "true &&\n  \x1b[2Jfalse", f"touch {mark}"]
    fleet.tasks(*({"id": f"t{n}", "check": check} for n, check in enumerate(checks)))
    words = ("batch", "tasks.jsonl", "--results", "results")
    refused = fleet.nanocoder(*words)
    assert refused.returncode == 2
    assert "tasks.jsonl has 2 commands to run after its tasks" in refused.stderr
    assert f"t0: touch {mark}\n" in refused.stderr
    assert "t1:\n    true &&\n      \\x1b[2Jfalse\n" in refused.stderr
    assert not mark.exists()
    assert not (fleet.folder / "results").exists()
    for answer, code in (("n", 2), ("y", 1)):
        terminal = pexpect.spawn(
            COMMAND, [*words], cwd=str(fleet.folder), env=fleet.nanocoder.environment, timeout=100
        )
        terminal.expect_exact("t0: touch")
        terminal.expect_exact("Run the checks that are listed above")
        assert not mark.exists()
        terminal.sendline(answer)
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert (terminal.exitstatus, (fleet.folder / "results").exists()) == (code, answer == "y")


def test_a_file_that_sets_the_mode_itself_needs_consent_too(fleet):
    call = {"name": "bash", "arguments": {"command": "touch mark"}}
    fleet.scripts({"hostile": {"turns": [{"calls": [call]}, {"text": "done"}]}})
    fleet.tasks(*({"id": f"t{n}", "model": fleet.model("hostile")} for n in range(2)))
    words = ("batch", "tasks.jsonl", "--results", "results")
    refused = fleet.nanocoder(*words)
    assert refused.returncode == 2
    assert "tasks.jsonl has tasks that take more than you chose" in refused.stderr
    assert f"t0: works in mode auto with {fleet.model('hostile')}" in refused.stderr
    assert "t1:" not in refused.stderr, "each kind is listed once"
    assert not (fleet.folder / "results").exists()
    assert fleet.nanocoder(*words, "--mode", "auto").returncode == 0
    fleet.tasks({"id": "a", "mode": "ask"})
    assert fleet.nanocoder(*words).returncode == 1, "it starts, and its call is refused"


def test_a_file_that_takes_another_folder_or_more_money_needs_consent(fleet, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.txt").write_text("mine")
    config = fleet.nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("max_cost_usd = 0.5\nmax_turns = 7\n")
    plain = {"mode": "ask"}
    fleet.tasks(
        {"id": "a", "cwd": str(tmp_path / "private"), **plain},
        {"id": "b", "cwd": "../../../../../../../../../../..", **plain},
        {"id": "c", "budget": {"max_cost": 100, "max_tokens": 9, "max_turns": 8}, **plain},
        {"id": "d", "budget": {"max_cost": 0.25, "max_turns": 7}, **plain},
    )
    words = ("batch", "tasks.jsonl", "--results", "results")
    refused = fleet.nanocoder(*words)
    assert refused.returncode == 2
    assert f"a: gives a copy of {tmp_path / 'private'} to scripted/" in refused.stderr
    assert "b: gives a copy of / to scripted/" in refused.stderr
    assert "c: sets max_cost_usd to 100, and you to 0.5; sets max_turns to 8" in refused.stderr
    assert "d: " not in refused.stderr
    assert not (fleet.folder / "results").exists()


@pytest.mark.parametrize("limit", [1, 3])
def test_a_disk_that_fills_up_leaves_whole_lines_and_the_batch_goes_on_later(fleet, limit):
    fleet.tasks(*({"id": f"{n}-{'x' * 150}"} for n in range(6)))
    limited = f'ulimit -f {limit}; exec "$0" "$@"'
    words = ("batch", "tasks.jsonl", "--results", "results", "--yes", "--workers", "1")
    full = subprocess.run(
        ["sh", "-c", limited, COMMAND, *words],
        cwd=fleet.folder,
        # Python would keep a compiled file that the limit cut, and fail with it later.
        env={**fleet.nanocoder.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert full.returncode in {1, 2}, full.stderr
    assert "Traceback" not in full.stderr
    assert all(line.endswith("}") for line in open_lines(fleet))
    assert fleet.run("--retry-failed").returncode == 0
    assert len(fleet.results) == 6


def open_lines(fleet):
    path = fleet.folder / "results" / "results.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def test_a_result_that_was_copied_counts_once(fleet):
    fleet.tasks({"id": "a", "check": "true"}, {"id": "b", "check": "false"})
    assert fleet.run().returncode == 1
    solved = next(result for result in fleet.results if result["checked"])
    with (fleet.folder / "results" / "results.jsonl").open("a") as file:
        file.write(json.dumps(solved) + "\n")
    again = fleet.run()
    assert again.returncode == 1
    assert '"tasks": 2, "solved": 1, "failed": 1' in again.stdout


def test_checks_of_a_trusted_folder_and_of_standard_input_need_no_second_consent(fleet):
    fleet.tasks({"id": "a", "check": "true"})
    words = ("--results", "results", "--workers", "1")
    rows = (fleet.folder / "tasks.jsonl").read_text()
    assert fleet.nanocoder("batch", "-", *words, stdin=None, input=rows).returncode == 0
    (fleet.folder / ".nanocoder").mkdir()
    (fleet.folder / ".nanocoder/config.toml").write_text('mode = "ask"\n')
    assert fleet.nanocoder("batch", "tasks.jsonl", *words).returncode == 2
    assert fleet.nanocoder("config", "trust", "--yes").returncode == 0
    assert fleet.nanocoder("batch", "tasks.jsonl", *words).returncode == 0


@pytest.mark.needs("bwrap")
def test_tasks_work_in_a_sandbox_where_there_is_one(fleet):
    outside = fleet.folder / "outside.txt"
    fleet.tasks({"id": "a", "check": f"touch {outside} 2>/dev/null; test ! -e {outside}"})
    assert fleet.run().returncode == 0
    assert not outside.exists()


@pytest.mark.contract("NT-88")
def test_a_rule_denies_in_a_batch_what_it_denies_elsewhere(fleet):
    config = fleet.nanocoder.home / ".config" / "nanocoder"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[plugins.policy-rules]\ndeny = ["write_file"]\n')
    fleet.tasks({"id": "a"})
    fleet.run()
    assert (fleet.results[0]["denials"], fleet.results[0]["files_changed"]) == (1, [])
    (refused,) = fleet.results[0]["denied"]
    assert refused["tool"] == "write_file"
    assert "the rule 'write_file' forbids it" in refused["reason"]


def test_a_task_with_a_denial_inside_another_call_is_not_solved(fleet):
    config = fleet.nanocoder.home / ".config" / "nanocoder"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[plugins.policy-rules]\ndeny = ["write_file"]\n')
    step = {"tool": "write_file", "parameters": {"path": "out.txt", "content": "hi\n"}}
    nested = {"name": "batch", "arguments": {"tool_calls": [step]}}
    fleet.scripts({"writes": {"turns": [{"calls": [nested]}, {"text": "done"}]}})
    fleet.tasks({"id": "a"})
    assert fleet.run().returncode == 1
    result = fleet.results[0]
    assert (result["stop_reason"], [row["tool"] for row in result["denied"]]) == (
        "denied",
        ["write_file"],
    )


def test_a_task_has_its_functions_and_no_tool_and_its_check_reads_the_calls(fleet):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    function = {"name": "weather", "description": "Tell the weather.", "parameters": schema}
    call = {"name": "weather", "arguments": {"city": "o'clock $(id)"}}
    other = {"name": "read_file", "arguments": {"path": "hello.py"}}
    turns = [{"calls": [call]}, {"calls": [other]}, {"text": "Sunny."}]
    (fleet.folder / "functions.json").write_text(json.dumps({"turns": turns}))
    expected = json.dumps([call])
    check = f'test "$NANOCODER_CALLS" = {shlex.quote(expected)}'
    model = "scripted/functions.json"
    fleet.tasks({"id": "a", "model": model, "functions": [function], "check": check})
    fleet.run()
    (result,) = fleet.results
    assert (result["checked"], result["tool_calls"]) == (True, 2)


def test_a_budget_ends_a_task(fleet):
    fleet.tasks({"id": "a", "budget": {"max_turns": 1}}, {"id": "b", "budget": 0.0005})
    assert fleet.run().returncode == 1
    reasons = {result["id"]: result["stop_reason"] for result in fleet.results}
    assert reasons == {"a": "turn_limit", "b": "budget"}


def test_a_tool_may_not_start_a_batch(fleet):
    done = fleet.nanocoder("batch", "tasks.jsonl", env={"NANOCODER_CALL": "1"})
    assert done.returncode == 2
    assert "a tool call may not" in done.stderr


@pytest.mark.contract("NT-95")
def test_the_summary_names_the_owner_and_the_expected_end_of_an_incident(fleet):
    fleet.tasks({"id": "a"})
    note = fleet.folder / "note.toml"
    note.write_text('incident = "<b>db</b> is down"\nowner = "Ada"\nexpected_end = 2001-02-03\n')
    wrong = fleet.run("--note", "note.toml")
    assert (wrong.returncode, "expected_end: a date and time is needed" in wrong.stderr) == (
        2,
        True,
    )
    assert not (fleet.folder / "results").exists()
    text = note.read_text().replace("2001-02-03", "2001-02-03T18:00:00Z")
    note.write_text(text)
    assert fleet.run("--note", "note.toml").returncode == 0
    page = (fleet.folder / "results" / "summary.html").read_text()
    for part in ("&lt;b&gt;db&lt;/b&gt; is down", "Ada", "2001-02-03 ", "overdue"):
        assert part in page
    kept = json.loads((fleet.folder / "results" / "incident.json").read_text())
    assert (kept["owner"], kept["expected_end"][:10]) == ("Ada", "2001-02-03")
    note.write_text(text.replace("2001", "2999"))
    assert fleet.run("--note", "note.toml").returncode == 0
    assert "overdue" not in (fleet.folder / "results" / "summary.html").read_text()
    note.write_text('owner = "Ada"\nexpected_ende = 1\n')
    assert "did you mean 'expected_end'" in fleet.run("--note", "note.toml").stderr


def test_a_note_needs_an_owner(fleet):
    fleet.tasks({"id": "a"})
    (fleet.folder / "note.toml").write_text('incident = "x"\nexpected_end = 2999-02-03T18:00:00Z\n')
    done = fleet.run("--note", "note.toml")
    assert (done.returncode, "owner: a text is needed" in done.stderr) == (2, True)


def test_the_words_of_the_answer_decide_nothing_and_its_secrets_are_left_out(fleet):
    token = "ghp_" + "a1B2" * 9
    answer = f"rm -rf / ; $(touch made) '{token}'\n\n"
    fleet.scripts({"writes": {"turns": [{"text": answer}]}})
    (fleet.folder / "source" / "answer").write_text(answer)
    check = 'printf %s "$NANOCODER_ANSWER" | cmp - answer && test ! -e made'
    fleet.tasks({"id": "a", "check": check})
    done = fleet.run()
    assert (done.returncode, fleet.results[0]["checked"]) == (0, True)
    artifact = fleet.folder / "results" / "artifacts" / fleet.results[0]["key"] / "answer.txt"
    assert token not in artifact.read_text()
    assert "rm -rf /" in artifact.read_text()


def reads(*paths):
    """A script that reads each path and ends."""
    calls = [{"name": "read_file", "arguments": {"path": path}} for path in paths]
    return {"turns": [*({"calls": [call]} for call in calls), {"text": "done"}]}


def git_in(folder, *words):
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def commit_all(folder):
    git_in(folder, "init", "-q")
    git_in(folder, "add", "--all", "--force")
    git_in(folder, "commit", "-qm", "first")


def test_a_rule_for_an_absolute_path_holds_in_a_copy(fleet):
    source = fleet.folder / "source"
    (source / "private").mkdir()
    (source / "private" / "plan.txt").write_text("PLAN")
    config = fleet.nanocoder.home / ".config" / "nanocoder"
    config.mkdir(parents=True)
    rule = f"read_file({source}/private/**)"
    (config / "config.toml").write_text(f'[plugins.policy-rules]\ndeny = ["{rule}"]\n')
    fleet.scripts({"reads": reads("private/plan.txt", "a.py")})
    fleet.tasks({"id": "a", "model": fleet.model("reads"), "check": "cat private/plan.txt"})
    fleet.run()
    result = fleet.results[0]
    assert (result["tool_calls"], result["denials"], result["checked"]) == (2, 1, False)


def test_a_rule_for_the_source_holds_in_the_worktree_of_a_sub_agent_of_a_task(fleet):
    """The worktree is a copy of the task's copy of the source."""
    source = fleet.folder / "source"
    commit_all(source)
    paths = ("private/plan.txt", "open/plan.txt")
    writes = [{"name": "write_file", "arguments": {"path": path, "content": ""}} for path in paths]
    fleet.scripts({"inner": {"turns": [{"calls": writes}, {"text": "done"}]}})
    config = fleet.nanocoder.home / ".config" / "nanocoder"
    config.mkdir(parents=True)
    rule = f"write_file({source}/private/**)"
    inner = f'[plugins.tool-task]\nmodel = "{fleet.model("inner")}"\n'
    (config / "config.toml").write_text(f'{inner}[plugins.policy-rules]\ndeny = ["{rule}"]\n')
    arguments = {"description": "write", "prompt": "Write.", "isolation": "worktree"}
    call = {"name": "task", "arguments": arguments}
    fleet.scripts({"outer": {"turns": [{"calls": [call]}, {"text": "done"}]}})
    fleet.tasks({"id": "a", "model": fleet.model("outer")})
    assert fleet.run().returncode == 1
    assert fleet.results[0]["stop_reason"] == "denied"
    journals = (fleet.nanocoder.home / ".local/state/nanocoder").rglob("*.jsonl")
    texts = "".join(journal.read_text() for journal in journals)
    assert f"the rule '{rule}' forbids it" in texts
    assert "A open/plan.txt (0 lines, +0)" in texts
    assert "A private/plan.txt" not in texts


def test_a_task_in_the_home_directory_reads_nothing_of_nanocoders_own_folders(fleet):
    home = fleet.nanocoder.home
    own = [".config/nanocoder/secret.txt", ".local/state/nanocoder/secret.txt"]
    for path in own:
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text("SECRET")
    (home / "mine.txt").write_text("mine")
    fleet.scripts({"reads": reads(*own, "mine.txt")})
    task = {"id": "a", "model": fleet.model("reads"), "cwd": str(home)}
    fleet.tasks({**task, "check": f"cat {own[0]} {own[1]} mine.txt || true"})
    fleet.run()
    assert fleet.results[0]["tool_calls"] == 3
    journals = list((home / ".local/state/nanocoder").rglob("*.jsonl"))
    assert journals
    assert not any("SECRET" in journal.read_text() for journal in journals)
    artifacts = fleet.folder / "results" / "artifacts" / fleet.results[0]["key"]
    assert "SECRET" not in "".join(path.read_text() for path in artifacts.iterdir())


@pytest.mark.parametrize("revision", ["", "HEAD"])
def test_the_settings_of_the_directory_tighten_its_tasks(fleet, revision):
    source = fleet.folder / "source"
    commit_all(source)
    (source / ".nanocoder").mkdir()
    settings = '[plugins.policy-rules]\ndeny = ["write_file"]\n'
    (source / ".nanocoder" / "config.toml").write_text(settings)
    fleet.tasks({"id": "a", "revision": revision})
    fleet.run()
    assert (fleet.results[0]["denials"], fleet.results[0]["files_changed"]) == (1, [])


def victim_of(fleet, way):
    """Make a repository whose data the source claims as its own, and return its `.git`."""
    victim, source = fleet.folder / "victim", fleet.folder / "source"
    victim.mkdir()
    (victim / "v.txt").write_text("VICTIM")
    commit_all(victim)
    if way == "a file":
        (source / ".git").write_text("gitdir: ../victim/.git\n")
    elif way == "a link":
        (source / ".git").symlink_to("../victim/.git")
    elif way == "the worktree of another":
        git_in(victim, "worktree", "add", "-q", "--detach", str(fleet.folder / "other"))
        (source / ".git").write_text("gitdir: ../victim/.git/worktrees/other\n")
    elif way == "a commondir":
        (source / ".git").mkdir()
        (source / ".git" / "HEAD").write_bytes((victim / ".git" / "HEAD").read_bytes())
        (source / ".git" / "commondir").write_text("../../victim/.git\n")
    else:
        commit_all(fleet.folder)
        return fleet.folder / ".git"
    return victim / ".git"


@pytest.mark.parametrize(
    "way", ["a file", "a link", "a commondir", "above", "the worktree of another"]
)
def test_a_revision_takes_no_repository_outside_of_the_directory(fleet, way):
    git = victim_of(fleet, way)
    before = sorted(git.rglob("*"))
    fleet.tasks({"id": "a", "revision": "HEAD"})
    done = fleet.run()
    assert done.returncode == 2
    assert "outside the directory" in done.stderr
    assert sorted(git.rglob("*")) == before
    assert not (fleet.folder / "results").exists()


def test_a_task_with_a_revision_works_from_a_worktree_that_git_has_made(fleet):
    source = fleet.folder / "source"
    commit_all(source)
    linked = fleet.folder / "linked"
    git_in(source, "worktree", "add", "-q", "-b", "topic", str(linked))
    (linked / "b.py").write_text("print(2)\n")
    git_in(linked, "add", "b.py")
    git_in(linked, "commit", "-qm", "second")
    (linked / "b.py").write_text("not committed\n")
    check = "test -f out.txt && grep -q 2 b.py && test ! -e ../a.py"
    fleet.tasks({"id": "a", "cwd": "linked", "revision": "topic", "check": check})
    done = fleet.run()
    assert done.returncode == 0, done.stderr
    assert (fleet.results[0]["checked"], fleet.results[0]["files_changed"]) == (True, ["out.txt"])
    artifacts = fleet.folder / "results/artifacts" / fleet.results[0]["key"]
    assert "+++ b/out.txt" in (artifacts / "changes.patch").read_text()
    assert sorted(path.name for path in (source / ".git/worktrees").iterdir()) == ["linked"]
    assert (linked / "b.py").read_text() == "not committed\n"


def test_a_worktree_whose_repository_keeps_objects_elsewhere_is_refused(fleet):
    source = fleet.folder / "source"
    commit_all(source)
    git_in(source, "worktree", "add", "-q", "--detach", str(fleet.folder / "linked"))
    objects = source / ".git/objects"
    objects.rename(fleet.folder / "objects")
    objects.symlink_to(fleet.folder / "objects")
    fleet.tasks({"id": "a", "cwd": "linked", "revision": "HEAD"})
    done = fleet.run()
    assert (done.returncode, "outside the directory" in done.stderr) == (2, True), done.stderr


def test_a_copy_has_no_copies_in_it(fleet):
    temporary = fleet.folder / "source" / "tmp"
    temporary.mkdir()
    fleet.tasks({"id": "a", "check": "test -d tmp && ! ls tmp/nanocoder-batch-*"})
    assert fleet.run(env={"TMPDIR": str(temporary)}, timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("0001-01-01T00:00:00", "expected_end: "),
        ("9999-12-31T23:59:59-12:00", "expected_end: "),
        ("[" * 9000, "nested too deeply"),
    ],
)
def test_a_note_that_no_clock_or_parser_takes_is_refused(fleet, end, message):
    fleet.tasks({"id": "a"})
    text = f'incident = "x"\nowner = "Ada"\nexpected_end = {end}\n'
    (fleet.folder / "note.toml").write_text(text)
    done = fleet.run("--note", "note.toml", env={"TZ": "Asia/Tokyo"})
    assert (done.returncode, message in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr


def test_a_secret_in_an_error_reaches_no_result_and_no_page(fleet):
    token = "ghp_" + "a1B2" * 9
    error = {"kind": "auth", "message": f"bad key {token}"}
    fleet.scripts({"writes": {"turns": [{"error": error}]}})
    fleet.tasks({"id": "a"})
    done = fleet.run()
    results = fleet.folder / "results"
    texts = [done.stdout, done.stderr, (results / "results.jsonl").read_text()]
    texts.append((results / "summary.html").read_text())
    assert all(token not in text for text in texts)
    assert "bad key" in texts[2]


def test_the_worktree_of_a_killed_batch_is_forgotten_by_the_next(fleet):
    source = fleet.folder / "source"
    commit_all(source)
    fleet.tasks({"id": "a", "revision": "HEAD", "model": fleet.model("slow")})
    batch = fleet.start()
    deadline = time.monotonic() + 60
    worktrees = source / ".git" / "worktrees"
    while not list(worktrees.glob("*/index")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    batch.kill()
    batch.communicate()
    assert list(worktrees.iterdir())
    fleet.tasks({"id": "b"})
    assert fleet.run().returncode == 0
    assert not worktrees.exists()
