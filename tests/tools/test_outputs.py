"""An output that is too long for a model is kept whole, and the session can read it."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.timeout(60)
NOTE = re.compile(r"^\[([\d,]+) lines left out; whole output: (\S+)\]$", re.MULTILINE)
LONG = "seq 1 20000"


@pytest.mark.contract("A18")
def test_one_cut_counts_what_is_missing_and_names_where_it_is(call):
    result = call("bash", command=LONG)
    ((count, place),) = NOTE.findall(result["output"])
    shown = result["output"].count("\n")  # the note is one of them, the last line has none
    assert (int(count.replace(",", "")) + shown, place) == (20_000, result["artifact"])
    assert result["output"].startswith("1\n2\n")
    assert result["output"].endswith("\n20000")


@pytest.mark.contract("A18")
@pytest.mark.parametrize("session", ["plan", "ask", "edits", "auto"], indirect=True)
def test_the_session_reads_and_searches_what_was_left_out(session, call):
    path = session.info.outputs / "kept.txt"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{number}\n" for number in range(1, 20_001)))
    window = call("read_file", path=str(path), offset=9_000, limit=2)
    assert window["output"].startswith("9000\t9000\n9001\t9001\n")
    assert "12345" in call("grep", pattern="^12345$", path=str(path))["output"]
    if str(session.info.mode) != "plan":
        for command in (f"sed -n 777p {path}", f"cat {path} | grep '^777$'", f"tail -n 1 {path}"):
            result = call("bash", command=command)
            assert (result["status"], result["output"]) in {("ok", "777"), ("ok", "20000")}


@pytest.mark.contract("A18")
def test_a_command_in_a_batch_names_its_whole_output_and_counts_once(call):
    calls = [{"tool": "bash", "parameters": {"command": LONG}}] * 4
    result = call("batch", tool_calls=calls)
    found = NOTE.findall(result["output"])
    assert len(found) == 4
    sections = result["output"].split("] bash: ok\n")[1:]
    for (count, path), section in zip(found, sections, strict=True):
        shown = sum(line.isdigit() for line in section.split("\n"))
        assert int(count.replace(",", "")) == 20_000 - shown
        assert "20000" in call("read_file", path=path, offset=20_000)["output"]


def test_what_is_kept_can_only_be_read(call):
    path = call("bash", command=LONG)["artifact"]
    for name, arguments in {
        "write_file": {"path": path, "content": "x"},
        "edit_file": {"path": path, "old_string": "20000\n", "new_string": ""},
        "delete_file": {"path": path},
        "move_file": {"source": path, "destination": "mine.txt"},
    }.items():
        refused = call(name, **arguments)["error_class"]
        assert refused in {"denied", "path_outside_workspace", "protected_path"}, name
    assert pathlib.Path(path).read_text().endswith("\n20000\n")


@pytest.mark.parametrize("session", ["ask"], indirect=True)
def test_nothing_else_of_ours_can_be_read(session, call):
    path = session.info.outputs / "a"
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = session.info.folder.with_suffix(".jsonl")
    other = session.info.folder.parent / "20200101-000000-aaaa" / "outputs" / "b.txt"
    other.parent.mkdir(parents=True)
    other.write_text("secret")
    (path.parent / "link").symlink_to(journal)
    (path.parent / "deep").mkdir()
    (path.parent / "deep" / "b").write_text("secret")
    for name in (
        journal,
        other,
        path.parent / "link",
        f"{path.parent}/../../{journal.name}",
        path.parent / "deep" / "b",
        path.parent / "deep" / ".." / ".." / ".." / journal.name,
    ):
        assert call("read_file", path=str(name))["status"] != "ok", name
        assert call("grep", pattern=".", path=str(name))["status"] != "ok", name
        # Nobody but nanocoder writes into the folder of the outputs, which commands may read.
        if name != path.parent / "deep" / "b":
            assert call("bash", command=f"cat {name}")["status"] != "ok", name


def test_a_session_keeps_at_most_so_much_and_the_oldest_go(session, call, monkeypatch):
    monkeypatch.setattr("nanocoder_kit_sessions.journal.MAX_OUTPUT_BYTES", 250_000)
    paths = [pathlib.Path(call("bash", command=LONG)["artifact"]) for _ in range(4)]
    assert [path.exists() for path in paths] == [False, False, True, True]
    gone = call("read_file", path=str(paths[0]))
    assert gone["error_class"] == "file_not_found"
