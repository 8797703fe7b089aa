"""What todo_write keeps and todo_read tells."""

import os
import threading
from types import SimpleNamespace

import nanocoder_tool_todo
import pytest
from nanocoder import BadArguments, SessionInfo, ToolContext, ToolError
from nanocoder_kit_sessions import testing
from nanocoder_testing import opened, tree_digest
from nanocoder_testing.playing import called
from nanocoder_tool_todo import nanocoder_resources, todo_read, todo_write

TASKS = [
    {"content": "Find the cause", "status": "completed", "priority": "high"},
    {"content": "Fix it", "status": "in_progress", "priority": "high"},
    {"content": "Write a test", "status": "pending", "priority": "medium"},
    {"content": "Rewrite it all", "status": "cancelled", "priority": "low"},
]
COUNTS = {"pending": 1, "in_progress": 1, "completed": 1, "cancelled": 1}


class Desk:
    """A session's tools, as the executor would call them."""

    def __init__(self, cwd, folder):
        session = SessionInfo("s", cwd, folder=folder)
        board = nanocoder_resources()[0].open(session, None)
        self.ctx = ToolContext(
            "s", "c", SimpleNamespace(), cwd, session=session, resource=lambda _: board
        )

    def write(self, todos):
        return todo_write.invoke(self.ctx, todo_write.signature.check({"todos": todos}))

    def read(self, **arguments):
        return todo_read.invoke(self.ctx, todo_read.signature.check(arguments))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path, tmp_path / "session")


@pytest.mark.contract("MA-72")
@pytest.mark.contract("MA-73")
def test_tasks_are_kept_in_the_folder_of_the_session(desk, tmp_path):
    result = desk.write(TASKS)
    assert result.output == (
        "Tasks saved. 4 tasks: 1 pending, 1 in_progress, 1 completed, 1 cancelled."
    )
    assert (tmp_path / "session/TODO.md").read_text() == (
        "# Tasks\n\n- [x] high: Find the cause\n- [>] high: Fix it\n"
        "- [ ] medium: Write a test\n- [-] low: Rewrite it all\n"
    )
    assert os.listdir(tmp_path / "session") == ["TODO.md"]
    assert (tmp_path / "session").stat().st_mode & 0o077 == 0


@pytest.mark.contract("MA-74")
@pytest.mark.contract("MA-76")
def test_what_was_written_is_read_back_with_the_counts(desk):
    desk.write(TASKS)
    result = desk.read()
    assert result.data == {"todos": TASKS, "counts": COUNTS, "total": 4}
    assert result.output.splitlines()[1] == "- [>] high: Fix it"
    assert result.output.endswith("[4 tasks: 1 pending, 1 in_progress, 1 completed, 1 cancelled]")


@pytest.mark.contract("MA-75")
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["status"])
def test_the_filter_shows_one_status_and_the_counts_of_all(desk, task):
    desk.write(TASKS)
    result = desk.read(status=task["status"])
    assert result.data == {"todos": [task], "counts": COUNTS, "total": 4}


def test_a_filter_that_fits_nothing_says_so(desk):
    desk.write(TASKS[:1])
    assert desk.read(status="pending").output == "No task is pending.\n[1 task: 1 completed]"


@pytest.mark.contract("MA-75")
def test_an_unknown_status_is_refused():
    with pytest.raises(BadArguments, match="status"):
        todo_read.signature.check({"status": "done"})
    with pytest.raises(BadArguments, match="status"):
        todo_write.signature.check({"todos": [{"content": "x", "status": "all"}]})


@pytest.mark.contract("MA-78")
def test_a_missing_list_is_a_message_and_reading_writes_nothing(desk, tmp_path):
    result = desk.read()
    assert result.output == "There is no task list yet; todo_write makes one."
    assert not result.is_error
    assert not (tmp_path / "session").exists()
    desk.write(TASKS)
    before = tree_digest(tmp_path)
    desk.read()
    desk.read(status="pending")
    assert tree_digest(tmp_path) == before


def test_the_newest_list_replaces_the_one_before_and_an_empty_one_clears_it(desk):
    desk.write(TASKS)
    desk.write(TASKS[:1])
    assert desk.read().data["total"] == 1
    assert desk.write([]).output == "Tasks saved. No tasks."
    assert desk.read().output == "[no tasks]"


# CONC-021
@pytest.mark.contract("MA-77")
def test_lists_written_at_once_are_never_mixed(tmp_path):
    """Two boards of one folder stand for two processes; each writes lists of its own kind."""
    desks = [Desk(tmp_path, tmp_path / "session") for _ in range(2)]
    problems = []

    def work(desk, name):
        for number in range(40):
            desk.write([{"content": f"{name} {number}"}] * 5)
            contents = {todo["content"] for todo in desks[0].read().data["todos"]}
            if len(contents) != 1:
                problems.append(contents)

    threads = [
        threading.Thread(target=work, args=(desks[number % 2], f"t{number}")) for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert os.listdir(tmp_path / "session") == ["TODO.md"]


@pytest.mark.contract("MA-77")
def test_sessions_do_not_share_a_list(tmp_path):
    desk, other = Desk(tmp_path, tmp_path / "one"), Desk(tmp_path, tmp_path / "two")
    desk.write(TASKS)
    assert other.read().data["total"] == 0


def test_a_line_break_in_a_task_cannot_make_a_second_one(desk):
    desk.write([{"content": "one\n- [x] high: two\r\nthree"}])
    [todo] = desk.read().data["todos"]
    assert todo["content"] == "one - [x] high: two three"


def test_what_a_person_edits_is_understood(desk, tmp_path):
    desk.write(TASKS[:1])
    (tmp_path / "session/TODO.md").write_text(
        "notes\n  - [X] high: done\n- [ ] no priority\n- [?] low: odd\n* other\n- [ ] \n"
    )
    assert [tuple(todo.values()) for todo in desk.read().data["todos"]] == [
        ("done", "completed", "high"),
        ("no priority", "pending", "medium"),
    ]


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(desk, tmp_path):
    (tmp_path / "session/TODO.md").mkdir(parents=True)
    with pytest.raises(ToolError, match=r"session/TODO\.md") as caught:
        desk.read()
    assert caught.value.error_class == "io_error"
    with pytest.raises(ToolError, match="cannot write"):
        desk.write(TASKS)
    assert os.listdir(tmp_path / "session") == ["TODO.md"]


def test_a_file_that_somebody_filled_is_not_read_into_memory(desk, tmp_path):
    (tmp_path / "session").mkdir()
    (tmp_path / "session/TODO.md").write_text("- [ ] low: x\n" * 100_000)
    with pytest.raises(ToolError, match="write the list again") as caught:
        desk.read()
    assert caught.value.error_class == "too_large"


@pytest.mark.contract("MA-73")
def test_a_resumed_session_has_its_list(tmp_path, home):
    environment = {"HOME": str(home)}
    cwd = tmp_path / "work"
    cwd.mkdir()
    options = {
        "plugins": [nanocoder_tool_todo, testing],
        "persist": True,
        "environment": environment,
    }
    with opened(cwd, **options) as (session, _):
        list(session.call("todo_write", {"todos": TASKS}))
        identity = session.id
        path = session.info.folder / "TODO.md"
    assert path.is_relative_to(home)
    assert not any(cwd.iterdir())
    with opened(cwd, resume=identity, **options) as (session, _):
        result, _ = called(session, "todo_read", {})
    assert result.data["counts"] == COUNTS


def test_a_session_that_is_not_kept_remembers_until_it_ends(tmp_path):
    with opened(tmp_path, plugins=[nanocoder_tool_todo], mode="plan") as (session, _):
        called(session, "todo_write", {"todos": TASKS})
        assert called(session, "todo_read", {})[0].data["total"] == 4
    assert not any(tmp_path.iterdir())


@pytest.mark.contract("MA-72")
@pytest.mark.contract("MA-74")
def test_both_are_safe():
    assert (todo_write.risk, todo_read.risk) == ("safe", "safe")
    assert todo_write.is_read_only
