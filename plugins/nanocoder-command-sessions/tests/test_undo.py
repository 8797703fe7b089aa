"""`nanocoder sessions undo`, fork, export and remove, as processes on real journals."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from command_line import COMMAND
from journals import rewrite_journal

pytestmark = pytest.mark.timeout(60)
DONE = {"text": "All done."}
LIMIT_BLOCKS = 600
"""Of 512 bytes: more than a journal takes, less than the file that is refused."""


def calls(*wanted):
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in wanted]}


def write(path, content):
    return ("write_file", {"path": path, "content": content})


def move(source, destination, **more):
    return ("move_file", {"source": source, "destination": destination, **more})


def delete(path):
    return ("delete_file", {"path": path})


@pytest.fixture
def work(nanocoder):
    """Run calls in one session, a turn for each, and return what `sessions` says of it."""

    def run(*wanted, more=()):
        # In a session that goes on the script begins where the session stands.
        before = [DONE] * 2 if more else []
        script = nanocoder.script(*before, *[calls(one) for one in wanted], DONE)
        done = nanocoder("run", "--mode", "auto", "--model", script, *more, "go")
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def without_snapshots(nanocoder):
    """Make it impossible to keep snapshots of files, so that nobody knows what commands change."""
    state = nanocoder.home / ".local/state/nanocoder"
    state.mkdir(parents=True)
    (state / "snapshots").write_text("in the way")


def on_full_disk(nanocoder, blocks, *words):
    """Run nanocoder where no file may have more than so many *blocks*."""
    return subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks}; exec "$0" "$@"', COMMAND, *words],
        cwd=nanocoder.cwd,
        # Python would keep a compiled file that the limit cut, and fail with it later.
        env={**nanocoder.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def tree(nanocoder):
    return {
        str(path.relative_to(nanocoder.cwd)): path.read_text() if path.is_file() else None
        for path in sorted(nanocoder.cwd.rglob("*"))
    }


def undo(nanocoder, *words):
    return nanocoder("sessions", "undo", "--yes", *words)


@pytest.mark.parametrize("is_edited", [True, False])
def test_a_write_for_which_there_was_no_room_is_no_change_to_undo(nanocoder, is_edited):
    """A change is in the journal before it is made."""
    original = "start\n" + "a" * 60_000 + "\n"
    (nanocoder.cwd / "a.txt").write_text(original)
    small = {"path": "a.txt", "old_string": "start", "new_string": "edited"}
    large = {"path": "a.txt", "old_string": "a", "new_string": "b" * 9, "replace_all": True}
    edits = [("edit_file", small), ("edit_file", large)] if is_edited else [("edit_file", large)]
    script = nanocoder.script(
        *[calls(call) for call in [("read_file", {"path": "a.txt"}), *edits]], DONE
    )
    words = ("run", "--mode", "auto", "--output", "json", "--model", script, "go")
    done = on_full_disk(nanocoder, LIMIT_BLOCKS, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tool_calls"][-1]["error_class"] == "disk_full"
    assert (nanocoder.cwd / "a.txt").read_text() == original.replace("start", "edited", is_edited)
    incident = nanocoder("sessions", "incident").stdout
    assert ("`a.txt`: as the session left it" in incident) is is_edited
    undone = undo(nanocoder)
    assert undone.returncode == 0, undone.stderr
    assert "changed since" not in undone.stdout + undone.stderr
    assert ("put back a.txt" in undone.stdout) is is_edited
    assert (nanocoder.cwd / "a.txt").read_text() == original


def test_an_undo_for_which_there_was_no_room_goes_on_later(nanocoder, work):
    large = {name: f"{name}\n" + name[0] * 400_000 for name in ("b.txt", "a.txt", "c.txt")}
    for name, text in large.items():
        (nanocoder.cwd / name).write_text(text)
    (nanocoder.cwd / "small.txt").write_text("small\n")
    before = tree(nanocoder)
    work(*map(delete, large), write("small.txt", "new\n"))
    after = tree(nanocoder)
    failed = on_full_disk(nanocoder, LIMIT_BLOCKS, "sessions", "undo", "--yes")
    assert failed.returncode == 1, failed.stdout[-700:]
    assert "done so far: small.txt" in failed.stderr
    assert tree(nanocoder) == {**after, "small.txt": "small\n"}
    again = undo(nanocoder)
    assert again.returncode == 0, again.stderr
    assert tree(nanocoder) == before
    assert "put back small.txt" not in again.stdout, "it is as it was"
    assert undo(nanocoder, "--redo").returncode == 0
    assert tree(nanocoder) == {**after, "small.txt": "small\n"}
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == before


def test_what_a_run_wrote_made_moved_and_deleted_is_put_back(nanocoder, work):
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (nanocoder.cwd / name).write_text(f"old {name}\n")
    (nanocoder.cwd / "b.txt").chmod(0o750)
    before = tree(nanocoder)
    work(
        write("a.txt", "one\n"),
        write("a.txt", "two\n"),
        delete("b.txt"),
        move("c.txt", "far/away/c.txt"),
        write("far/away/c.txt", "changed after the move\n"),
        write("new/deep/n.txt", "new\n"),
        move("a.txt", "d.txt", replace=True),
    )
    assert tree(nanocoder) != before
    done = undo(nanocoder)
    assert done.returncode == 0, done.stderr
    assert tree(nanocoder) == before
    assert stat.S_IMODE((nanocoder.cwd / "b.txt").stat().st_mode) == 0o750
    assert "-two" in done.stdout
    assert "+old a.txt" in done.stdout
    assert "removed new/deep/n.txt" in done.stdout
    assert "move far/away/c.txt back to c.txt" in done.stdout


def test_a_directory_that_was_moved_is_moved_back_with_what_was_changed_in_it(nanocoder, work):
    (nanocoder.cwd / "src").mkdir()
    (nanocoder.cwd / "src/a.txt").write_text("old\n")
    (nanocoder.cwd / "src/b.txt").write_text("b\n")
    before = tree(nanocoder)
    work(
        write("src/a.txt", "changed before\n"),
        move("src", "lib"),
        write("lib/a.txt", "changed after\n"),
        delete("lib/b.txt"),
    )
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == before


def test_an_undo_can_be_taken_back_and_a_second_one_goes_further_back(nanocoder, work):
    file = nanocoder.cwd / "a.txt"
    file.write_text("0")
    work(write("a.txt", "1"))
    work(write("a.txt", "2"), more=["--continue"])
    for words, content in [
        ([], "1"),
        ([], "0"),
        (["last", "--redo"], "1"),
        (["last", "--redo"], "2"),
        ([], "1"),
        (["--redo"], "2"),
        (["--all"], "0"),
    ]:
        done = undo(nanocoder, *words)
        assert done.returncode == 0, done.stderr
        assert file.read_text() == content
    done = undo(nanocoder)
    assert done.returncode == 1
    assert "nothing to undo" in done.stderr


@pytest.mark.contract("CO-25")
def test_single_calls_are_undone_too_the_newest_first(nanocoder, work):
    work(write("a.txt", "by the run\n"))
    for text in ("first\n", "second\n"):
        wanted = json.dumps({"path": "a.txt", "content": text})
        assert nanocoder("call", "write_file", wanted, "--mode", "auto").returncode == 0
    assert nanocoder("call", "read_file", '{"path": "a.txt"}').returncode == 0
    left = []
    for _ in range(3):
        assert undo(nanocoder).returncode == 0
        left.append(tree(nanocoder))
    assert left == [{"a.txt": "first\n"}, {"a.txt": "by the run\n"}, {}]


def test_after_the_undo_of_a_single_call_nothing_is_left_to_undo(nanocoder):
    nanocoder("call", "write_file", '{"path": "a", "content": "1"}', "--mode", "edits")
    assert nanocoder("sessions", "undo", "--yes").returncode == 0
    again = nanocoder("sessions", "undo", "--yes")
    assert again.returncode == 1
    assert "nothing to undo: no file was changed, or everything was undone" in again.stderr
    assert nanocoder("sessions", "undo", "--redo", "--yes").returncode == 0
    assert nanocoder("sessions", "undo", "--redo", "--yes").stderr == "nanocoder: nothing to redo\n"


def test_a_single_call_is_undone_and_done_again_without_an_id(nanocoder):
    call = ("call", "--mode", "auto", "write_file", '{"path": "a.txt", "content": "a"}')
    assert nanocoder(*call).returncode == 0
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {}
    again = undo(nanocoder, "--redo")
    assert again.returncode == 0, again.stderr
    assert tree(nanocoder) == {"a.txt": "a"}


def test_a_run_that_got_no_answer_does_not_hide_the_changes_before_it(nanocoder, work):
    work(write("a.txt", "by the run\n"))
    refused = nanocoder.script({"error": "no answer today", "kind": "auth"})
    assert nanocoder("run", "--model", refused, "go on").returncode == 4
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {}


def test_one_call_alone_can_be_undone(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("a")
    work(write("a.txt", "1"), write("b.txt", "1"))
    shown = json.loads(nanocoder("sessions", "show", "--output", "json").stdout)
    first = next(call for message in shown["messages"] for call in message.get("calls", ()))
    assert undo(nanocoder, "--call", first["id"]).returncode == 0
    assert tree(nanocoder) == {"a.txt": "a", "b.txt": "1"}
    done = undo(nanocoder, "--call", "nonsense")
    assert (done.returncode, "call 'nonsense' has no change" in done.stderr) == (2, True)


@pytest.mark.parametrize("spoil", ["change", "remove", "in the way"])
def test_when_somebody_else_changed_one_file_the_rest_is_put_back_and_it_is_named(
    nanocoder, work, spoil
):
    (nanocoder.cwd / "a.txt").write_text("a")
    (nanocoder.cwd / "gone.txt").write_text("g")
    work(write("a.txt", "1"), write("b.txt", "1"), delete("gone.txt"))
    if spoil == "change":
        (nanocoder.cwd / "a.txt").write_text("somebody's")
    elif spoil == "remove":
        (nanocoder.cwd / "a.txt").unlink()
    else:
        (nanocoder.cwd / "gone.txt").write_text("somebody's")
    done = undo(nanocoder)
    assert done.returncode == 0
    name = "gone.txt" if spoil == "in the way" else "a.txt"
    assert f"left as it is: {name} has been" in done.stdout
    assert f"Restored 2 files, left {name} as it is. To reverse it: nanocoder" in done.stdout
    assert "Done." not in done.stdout
    assert "perhaps" not in done.stdout
    assert not (nanocoder.cwd / "b.txt").exists()
    rest = {"gone.txt": "g", "a.txt": "a"}
    spoilt = {"change": "somebody's", "in the way": "somebody's"}.get(spoil)
    assert tree(nanocoder) == {
        path: text for path, text in {**rest, name: spoilt}.items() if text is not None
    }
    forced = undo(nanocoder, "--force")
    assert forced.returncode == 0
    assert tree(nanocoder) == rest


@pytest.mark.usefixtures("without_snapshots")
def test_a_formatter_between_changes_does_not_keep_the_rest_from_being_undone(nanocoder, work):
    (nanocoder.cwd / "fm.py").write_text("old = 1")
    work(
        write("fm.py", "new=1\n"),
        write("other.txt", "other\n"),
        ("bash", {"command": "echo 'new = 1' > fm.py"}),
    )
    done = undo(nanocoder)
    assert done.returncode == 0, done.stderr
    assert (
        "left as it is: fm.py has been changed since, perhaps by this session's own bash;"
        " --force restores it, too"
    ) in done.stdout
    assert tree(nanocoder) == {"fm.py": "new = 1\n"}
    assert undo(nanocoder).returncode == 1
    assert undo(nanocoder, "--force").returncode == 0
    assert tree(nanocoder) == {"fm.py": "old = 1"}
    assert undo(nanocoder, "--redo").returncode == 0
    assert tree(nanocoder) == {"fm.py": "new = 1\n"}


def test_the_changes_of_one_file_alone_can_be_undone(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("a")
    work(write("a.txt", "1"), write("b.txt", "1"), write("a.txt", "2"))
    assert undo(nanocoder, "--file", "none.txt").returncode == 2
    assert undo(nanocoder, "--file", "./a.txt").returncode == 0
    assert tree(nanocoder) == {"a.txt": "a", "b.txt": "1"}
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {"a.txt": "a"}


def test_an_undo_as_json_names_what_it_restored_and_what_it_left(nanocoder, work):
    work(write("a.txt", "1"), write("b.txt", "1"))
    (nanocoder.cwd / "a.txt").write_text("another's")
    done = undo(nanocoder, "--output", "json")
    data = json.loads(done.stdout)
    assert (data["files"], data["skipped"]) == (["b.txt"], ["a.txt"])
    assert "left as it is: a.txt" in done.stderr


def test_without_a_person_it_shows_what_it_would_do_and_leaves_with_3(nanocoder, work):
    (nanocoder.cwd / "b.txt").write_text("old\n")
    work(write("a.txt", "1\n"), write("b.txt", "2\n"))
    done = nanocoder("sessions", "undo")
    assert done.returncode == 3
    assert "-1" in done.stdout
    assert "-2\n+old" in done.stdout
    assert "put back" not in done.stdout + done.stderr, "nothing was"
    assert "remove" not in done.stdout + done.stderr
    assert "--yes" in done.stderr
    assert tree(nanocoder) == {"a.txt": "1\n", "b.txt": "2\n"}


@pytest.mark.parametrize(
    ("answer", "left"), [("y", {}), ("n", {"a.txt": "1"}), ("", {"a.txt": "1"})]
)
def test_on_a_terminal_it_asks(nanocoder, work, answer, left):
    import pexpect

    work(write("a.txt", "1"))
    talk = pexpect.spawn(
        str(Path(sys.executable).with_name("nanocoder")),
        ["sessions", "undo"],
        cwd=str(nanocoder.cwd),
        env=nanocoder.environment,
        encoding="utf-8",
        timeout=20,
    )
    talk.expect_exact("Make these changes?")
    talk.sendline(answer)
    talk.expect(pexpect.EOF)
    talk.close()
    assert talk.exitstatus == 0
    assert tree(nanocoder) == left


@pytest.mark.usefixtures("without_snapshots")
def test_what_a_command_did_is_said_not_to_be_undone(nanocoder, work):
    work(("bash", {"command": "echo x > by-bash.txt"}), write("a.txt", "1"))
    done = undo(nanocoder)
    assert done.returncode == 0
    assert "not undone" in done.stdout
    assert "bash" in done.stdout
    assert tree(nanocoder) == {"by-bash.txt": "x\n"}


@pytest.mark.usefixtures("without_snapshots")
def test_what_commands_of_a_later_run_did_is_said_not_to_be_undone(nanocoder, work):
    work(write("a.txt", "1"))
    work(("bash", {"command": "echo x > by-bash.txt"}), more=("--continue",))
    done = undo(nanocoder)
    assert "not undone: side effects are not tracked: bash" in done.stdout
    assert tree(nanocoder) == {"by-bash.txt": "x\n"}


def test_from_another_directory_it_says_where_the_files_are(nanocoder, work, tmp_path):
    work(write("a.txt", "1"))
    (session,) = json.loads(nanocoder("sessions", "list", "--output", "json").stdout)
    (tmp_path / "other").mkdir()
    done = undo(nanocoder, session["id"], "--cwd", str(tmp_path / "other"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"these are files in {nanocoder.cwd}:\n")
    assert tree(nanocoder) == {}


def test_files_in_a_directory_that_was_never_the_sessions_are_put_back_only_there(
    nanocoder, work, tmp_path
):
    """A journal that was tampered with decides nothing about other directories."""
    other = tmp_path / "other"
    other.mkdir()
    work(write("a.txt", "1"))
    (other / "a.txt").write_text("1")
    (journal,) = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")

    def elsewhere(record):
        is_change = record.kind == "file.changed"
        return evolve(record, data={**record.data, "root": str(other)}) if is_change else record

    rewrite_journal(journal, elsewhere)
    refused = undo(nanocoder)
    assert refused.returncode == 1
    assert f"files in {other}, but the session ran in {nanocoder.cwd}" in refused.stderr
    assert (other / "a.txt").exists()
    assert tree(nanocoder) == {"a.txt": "1"}
    meant = undo(nanocoder, journal.stem, "--cwd", str(other))
    assert meant.returncode == 0, meant.stderr
    assert not (other / "a.txt").exists()


def test_a_copy_that_was_tampered_with_is_not_put_back(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("a")
    work(write("a.txt", "1"))
    (copy,) = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*/backups/*/*")
    copy.write_text("evil")
    done = undo(nanocoder)
    assert done.returncode == 1
    assert "is no longer kept" in done.stderr
    assert tree(nanocoder) == {"a.txt": "1"}


def test_a_file_that_became_a_link_is_not_followed(nanocoder, work, tmp_path):
    (tmp_path / "outside").write_text("1")
    work(write("a.txt", "1"))
    (nanocoder.cwd / "a.txt").unlink()
    (nanocoder.cwd / "a.txt").symlink_to(tmp_path / "outside")
    done = undo(nanocoder)
    assert done.returncode == 1
    assert (tmp_path / "outside").read_text() == "1"
    assert (nanocoder.cwd / "a.txt").is_symlink()


def test_the_first_content_is_kept_however_often_a_file_is_written(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("first")
    turn = calls(*[write("a.txt", f"{number}") for number in range(45)])
    done = nanocoder("run", "--mode", "auto", "--model", nanocoder.script(turn, DONE), "go")
    assert done.returncode == 0, done.stderr
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {"a.txt": "first"}


def test_a_session_that_is_in_use_is_not_undone(nanocoder, work):
    import fcntl

    work(write("a.txt", "1"))
    (journal,) = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")
    with open(journal, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = undo(nanocoder)
    assert (done.returncode, "in use" in done.stderr) == (2, True)


def test_the_model_is_told_that_its_changes_were_taken_back(nanocoder, work):
    work(write("a.txt", "1"))
    undo(nanocoder)
    nanocoder("run", "--continue", "--model", nanocoder.script(DONE), "go on")
    shown = json.loads(nanocoder("sessions", "show", "--output", "json").stdout)
    said = [one["text"] for one in shown["messages"] if one["role"] == "user"]
    assert any("undid your changes" in text and "a.txt" in text for text in said)


# Fork, export, remove


def test_a_fork_goes_on_by_itself(nanocoder, work):
    work(write("a.txt", "1"))
    done = nanocoder("sessions", "fork")
    forked = done.stdout.strip()
    assert f"nanocoder sessions resume {forked}" in done.stderr
    script = nanocoder.script(DONE, DONE, {"text": "Forked."})
    nanocoder("run", "--session", forked, "--model", script, "on")
    rows = json.loads(nanocoder("sessions", "list", "--output", "json").stdout)
    assert [row["id"] == forked for row in rows] == [True, False]
    old = nanocoder("sessions", "show", rows[1]["id"]).stdout
    new = nanocoder("sessions", "show", forked).stdout
    assert new.startswith(old)
    assert "Forked." in new[len(old) :]
    done = nanocoder("sessions", "undo", forked, "--yes")
    assert (done.returncode, "nothing to undo" in done.stderr) == (1, True)


# SESS-023
def test_an_export_has_no_secrets_unless_it_should(nanocoder, work):
    token = "ghp_" + "c" * 36
    folder = nanocoder.home / ".local/state/nanocoder/sessions"
    (nanocoder.cwd / "s.txt").write_text("a harmless line\n")
    work(("read_file", {"path": "s.txt"}))
    [journal] = folder.glob("*.jsonl")

    def with_token(record):  # as a store that redacts nothing would have kept it
        text = json.dumps(record.data).replace("a harmless line", token)
        return evolve(record, data=json.loads(text))

    rewrite_journal(journal, with_token)
    for form in ("markdown", "json", "html"):
        done = nanocoder("sessions", "export", "--format", form)
        assert (done.returncode, token in done.stdout) == (0, False)
        assert "[secret: github-token]" in done.stdout
        assert token in nanocoder("sessions", "export", "--format", form, "--unredacted").stdout


def test_an_export_is_inert_whole_and_says_to_look_for_secrets(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("```\n\x1b]52;c;eA==\x07 TOKEN=synthetic\n````\n")
    work(("read_file", {"path": "a.txt"}))
    done = nanocoder("sessions", "export")
    assert done.returncode == 0
    assert done.stdout.startswith("# go\n\n- session: `")
    assert "TOKEN=synthetic\n" in done.stdout
    assert "\n`````\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert "Secrets of known forms" in done.stderr
    data = json.loads(nanocoder("sessions", "export", "--output", "json").stdout)
    assert [one["role"] for one in data["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_a_removed_session_is_gone_with_its_copies(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("a")
    work(write("a.txt", "1"))
    folder = nanocoder.home / ".local/state/nanocoder/sessions"
    (journal,) = folder.glob("*.jsonl")
    assert nanocoder("sessions", "remove", journal.stem).returncode == 0
    assert list(folder.iterdir()) == []
    done = nanocoder("sessions", "remove", journal.stem)
    assert done.returncode == 2
