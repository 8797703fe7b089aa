"""Files that change after they were read are named to the model, once and in one place."""

import os
from importlib.metadata import entry_points

import nanocoder_context_freshness as plugin
import pytest
from nanocoder import Message, Plugins, ToolResult, open_session
from nanocoder_context_freshness.seen import MOST_FILES, Seen
from nanocoder_kit_sessions import testing
from nanocoder_testing import Scripted
from nanocoder_testing.playing import agree, gathered, opened

READ = ("read_file", {"path": "a.py"})
EDIT = ("edit_file", {"path": "a.py", "old_string": "one", "new_string": "two"})
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-one = 1\n+one = 2\n*** End Patch\n"
TOOLS = {"tool-read", "tool-edit", "tool-bash", "tool-patch", "tool-move"}


def plugins() -> Plugins:
    installed = entry_points(group="nanocoder")
    tools = {entry.name: entry.load() for entry in installed if entry.name in TOOLS}
    return gathered({"context-freshness": plugin, **tools})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("one = 1\n")
    return path


@pytest.fixture
def session(tmp_path):
    """Open a session in which all is allowed; returns it and the model."""

    def open_(*turns, settings=None, **options):
        chosen = {"context-freshness": settings or plugin.Settings()}
        options = {"approve": agree, "settings": chosen, **options}
        return opened(tmp_path, turns, plugins=plugins(), **options)

    return open_


def said(request):
    """Return where the model reads of changes: the places of the messages."""
    texts = (
        message.text + "".join(result.output for result in message.results)
        for message in request.messages
    )
    return [place for place, text in enumerate(texts) if "Changed on the disk" in text]


@pytest.mark.contract("NT-62")
def test_a_file_that_somebody_changes_is_named_once_and_stays_named_there(file, session):
    with session([READ], "one is 1", "one is 2", "I said so") as (talk, model):
        list(talk.run("what is one?"))
        file.write_text("one = 2\n")
        list(talk.run("and now?"))
        list(talk.run("sure?"))
        assert talk.messages[-4].text == "and now?", "the conversation itself is as it was typed"
    first, second, third, fourth = model.requests
    assert (said(first), said(second)) == ([], [])
    assert said(third) == said(fourth) == [len(third.messages) - 1]
    assert third.messages[-1].text == (
        "and now?\n\n[Changed on the disk since they were last read: a.py. Read them again before"
        " you rely on them.]"
    )
    assert fourth.messages[: len(third.messages)] == third.messages, (
        "the same objects: no new bytes"
    )


@pytest.mark.contract("NT-62")
def test_what_a_command_changes_is_named_with_its_result(file, session):
    command = ("bash", {"command": "sed -i s/1/3/ a.py"})
    with session([READ], [command], "Done.") as (talk, model):
        list(talk.run("go"))
        (result,) = talk.messages[-2].results
        assert "last read: a.py. Read" in result.output, "a part of the conversation, as it is kept"
    assert [said(request) for request in model.requests] == [[], [], [4]]
    assert file.read_text() == "one = 3\n"


def test_a_file_that_is_not_on_this_machine_is_not_missed(tmp_path):
    """So it is where a recorded session is replayed."""
    seen = Seen(tmp_path)
    seen.remember(ToolResult("1", metadata={"path": "there.py", "digest": "d"}))
    assert seen.note_of_changes() == ""


@pytest.mark.parametrize("call", [EDIT, ("apply_patch", {"patch": PATCH})])
def test_the_models_own_changes_are_not_named(file, session, call):
    with session([READ], [call], "Done.", "Yes.") as (talk, model):
        list(talk.run("go"))
        list(talk.run("sure?"))
    assert file.read_text() != "one = 1\n"
    assert [said(request) for request in model.requests] == [[], [], [], []]


@pytest.mark.parametrize("destination", ["b.py", "lib/a.py"])
def test_a_file_that_the_model_moves_is_not_named(file, session, destination):
    move = ("move_file", {"source": "a.py", "destination": destination})
    with session([READ], [move], "Done.", "Yes.", "Hm.") as (talk, model):
        list(talk.run("go"))
        list(talk.run("sure?"))
        (file.parent / destination).write_text("three = 3\n")
        list(talk.run("and now?"))
    assert [said(request) for request in model.requests[:-1]] == [[], [], [], []]
    assert f"last read: {destination}. Read" in model.requests[-1].messages[-1].text


def test_a_file_in_a_folder_that_the_model_moves_is_not_named(tmp_path, session):
    for name in ("src/in/a.py", "srcs/b.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("one = 1\n")
    reads = [("read_file", {"path": name}) for name in ("src/in/a.py", "srcs/b.py")]
    move = ("move_file", {"source": "src", "destination": "lib"})
    with session(reads, [move], "Done.", "Yes.") as (talk, model):
        list(talk.run("go"))
        (tmp_path / "srcs/b.py").unlink()
        list(talk.run("sure?"))
    assert [said(request) for request in model.requests[:-1]] == [[], [], []]
    assert "last read: srcs/b.py (deleted). Read" in model.requests[-1].messages[-1].text


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_the_model_changes_by_another_of_its_names_is_not_named(
    tmp_path, session, is_link
):
    there, name = tmp_path / "e\u0301.py", "\u00e9.py"
    there.write_text("one = 1\n")
    if is_link:
        name = "link.py"
        (tmp_path / name).symlink_to(there.name)
    read, edit = ((tool, {**arguments, "path": name}) for tool, arguments in (READ, EDIT))
    with session([read], [edit], "Done.", "Yes.", "Hm.") as (talk, model):
        list(talk.run("go"))
        list(talk.run("sure?"))
        there.write_text("three = 3\n")
        list(talk.run("and now?"))
    assert there.read_text() == "three = 3\n"
    assert [said(request) for request in model.requests[:-1]] == [[], [], [], []]
    assert "Changed on the disk" in model.requests[-1].messages[-1].text


def test_a_file_with_another_time_and_the_same_content_is_not_named(file, session):
    with session([READ], "Done.", "Yes.") as (talk, model):
        list(talk.run("go"))
        os.utime(file, (1, 1))
        list(talk.run("sure?"))
    assert said(model.requests[-1]) == []


@pytest.mark.parametrize("becomes", ["nothing", "a pipe"])
def test_a_file_that_is_gone_is_named_as_deleted(file, session, becomes):
    with session([READ], "Done.", "Yes.") as (talk, model):
        list(talk.run("go"))
        file.unlink()
        if becomes == "a pipe":
            os.mkfifo(file)
        list(talk.run("sure?"))
    assert "a.py (deleted)" in model.requests[-1].messages[-1].text


@pytest.fixture
def swapped(tmp_path):
    """Return a function that reads `a/b.py` and puts a link to outside in place of the folder."""
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    for folder in (outside, root / "a"):
        folder.mkdir(parents=True)
        (folder / "b.py").write_text("one = 1\n")

    def swap(seen):
        seen.remember(ToolResult("1", metadata={"path": "a/b.py"}))
        (root / "a").rename(root / "before")
        (root / "a").symlink_to(outside)
        return seen

    return swap, root, outside


@pytest.mark.parametrize("content", ["one = 1\n", "secret = 2\n"])
def test_a_folder_that_became_a_link_to_outside_tells_nothing_of_what_is_there(swapped, content):
    swap, root, outside = swapped
    (outside / "b.py").write_text(content)
    seen = swap(Seen(root))
    assert "a/b.py (deleted)" in seen.note_of_changes(), "the same as if nothing were there"
    (outside / "b.py").unlink()
    assert seen.note_of_changes() == ""
    seen.close()


def test_a_file_that_a_link_leads_out_of_the_folder_is_not_taken_for_one_of_it(tmp_path, swapped):
    swap, root, _ = swapped
    seen = swap(Seen(root))
    (tmp_path / "old.py").write_text("one = 1\n")
    (root / "c.py").symlink_to(tmp_path / "old.py")
    seen.remember(ToolResult("1", metadata={"path": "c.py", "digest": "d"}))
    (tmp_path / "old.py").write_text("one = 22\n")
    assert "c.py" not in seen.note_of_changes()
    seen.close()


def test_the_handle_of_the_folder_is_given_back_with_the_session(file, session):
    before = len(os.listdir("/proc/self/fd"))
    with session([READ], "Done.") as (talk, _):
        list(talk.run("go"))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.contract("NT-62")
def test_a_session_that_is_resumed_learns_what_changed_meanwhile(file, tmp_path):
    together = plugins()
    together.add(testing, "files")
    model = Scripted([[READ], "one is 1", "one is 2"])
    together.add(model, "script")
    options = {"plugins": together, "environment": {"HOME": str(tmp_path)}, "model": "script"}
    with open_session(tmp_path, **options) as session:
        list(session.run("what is one?"))
    file.write_text("one = 2\n")
    with open_session(tmp_path, resume=session.id, **options) as again:
        list(again.run("and now?"))
    assert said(model.requests[-1]) == [len(model.requests[-1].messages) - 1]


@pytest.mark.contract("NT-62")
def test_what_was_read_is_fresh_for_the_time_that_a_person_sets(file, session):
    with session([READ], "Done.", "Yes.", settings=plugin.Settings(3600)) as (talk, model):
        list(talk.run("go"))
        file.write_text("one = 2\n")
        list(talk.run("sure?"))
    assert said(model.requests[-1]) == []


@pytest.mark.contract("NT-62")
def test_what_was_read_counts_as_fresh_until_its_time_is_over_and_a_new_look_begins_it_anew(file):
    now = [0.0]
    seen = Seen(file.parent, 60.0, clock=lambda: now[0])
    read = ToolResult("1", metadata={"path": "a.py"})
    seen.remember(read)
    file.write_text("one = 22\n")
    now[0] = 59.0
    assert seen.note_of_changes() == ""
    now[0] = 60.0
    assert "last read: a.py. Read them again" in seen.note_of_changes()

    seen.remember(read)  # it is read again, as the note says
    file.write_text("one = 333\n")
    now[0] = 119.0
    assert seen.note_of_changes() == "", "a minute from the second reading on"
    now[0] = 120.0
    assert "a.py" in seen.note_of_changes()
    seen.close()


@pytest.mark.contract("NT-62")
def test_after_the_note_an_edit_is_refused_until_the_model_has_read_the_file_again(file, session):
    with session([READ], "one is 1", [EDIT], [READ], [EDIT], "Done.") as (talk, model):
        list(talk.run("what is one?"))
        file.write_text("one = 5\n")
        list(talk.run("make it two"))
        first, _, second = [result for message in talk.messages[4:] for result in message.results]
    assert "Changed on the disk" in model.requests[2].messages[-1].text
    assert (first.error_class, "Read it again" in first.output) == ("stale_read", True)
    assert (second.error_class, file.read_text()) == ("", "two = 5\n")


def test_a_small_model_gets_its_request_alone(file, session):
    model = Scripted([[READ], "Done.", "Yes."], profile="small")
    with session(model=model) as (talk, _):
        list(talk.run("go"))
        file.write_text("one = 2\n")
        list(talk.run("sure?"))
    assert said(model.requests[-1]) == []


def test_a_file_that_the_model_no_longer_knows_is_not_named(file):
    """It was read in a part of the conversation that was taken back."""
    seen = Seen(file.parent)
    seen.remember(ToolResult("1\tone = 1", metadata={"path": "a.py"}))
    file.write_text("one = 2\n")
    messages = [Message("user", "start anew")]
    assert seen.with_notes(messages) is messages


def test_a_name_with_blanks_is_named_whole(tmp_path):
    (tmp_path / "my notes.txt").write_text("1")
    seen = Seen(tmp_path)
    result = ToolResult("1", metadata={"path": "my notes.txt"})
    seen.remember(result)
    (tmp_path / "my notes.txt").write_text("23")
    assert "last read: my notes.txt. Read" in seen.note_of_changes()
    assert seen.note_of_changes() == ""


def test_many_files_are_counted(tmp_path):
    seen = Seen(tmp_path)
    names = [f"f{number}.py" for number in range(30)]
    for name in names:
        (tmp_path / name).write_text("1")
        seen.remember(ToolResult("1", metadata={"path": name}))
        (tmp_path / name).write_text("23")
    (shown,) = seen.with_notes([Message("user", f"all of {names}")])
    assert "f19.py, 10 more. Read them" in shown.text


def test_only_the_files_that_were_read_last_are_looked_at(tmp_path):
    seen, names = Seen(tmp_path), [f"{number}.txt" for number in range(MOST_FILES + 1)]
    for name in names:
        (tmp_path / name).write_text("one")
        seen.remember(ToolResult("", metadata={"path": name}))
    for name in (names[0], names[-1]):
        (tmp_path / name).write_text("three")
    note = seen.note_of_changes()
    seen.close()
    assert f": {names[-1]}. Read" in note
