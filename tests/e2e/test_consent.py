"""Consent is for what was shown: the installed tools, and files that change during a question."""

import os

import nanocoder
import pytest
from nanocoder import ApprovalAnswer

pytestmark = pytest.mark.timeout(60)

PATCH = "*** Begin Patch\n{}*** End Patch\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Share what is known of the installed plugins, which takes a second to find out."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def work(tmp_path, cache, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("XDG_", "NANOCODER_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def call(work, tmp_path):
    """Take one call down the path of a session that has every installed plugin."""

    def run(name, arguments, *, meanwhile=None, mode="ask", config=""):
        settings = tmp_path / "home/.config/nanocoder/config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(config)
        asked = []

        def approve(request):
            asked.append(request.call.name)
            if meanwhile:
                meanwhile()
            return ApprovalAnswer(request.id, request.digest, approved=True)

        with nanocoder.open_session(work, persist=False, mode=mode, approve=approve) as session:
            *_, last = session.call(name, arguments)
        return last.data, asked

    return run


WRITE = ("write_file", {"path": "a.txt", "content": "new\n"})
EDIT = ("edit_file", {"path": "a.txt", "old_string": "old", "new_string": "new"})
UPDATE = (
    "apply_patch",
    {"patch": PATCH.format("*** Update File: a.txt\n@@\n-old\n+new\n")},
)
DELETE_BY_PATCH = ("apply_patch", {"patch": PATCH.format("*** Delete File: a.txt\n")})
MOVE = ("move_file", {"source": "a.txt", "destination": "b.txt"})
MOVE_OVER = ("move_file", {"source": "c.txt", "destination": "a.txt", "replace": True})
DELETE = ("delete_file", {"path": "a.txt"})
ATOMIC = ("atomic_edit", {"file_path": "a.txt", "old_string": "old", "new_string": "new"})
REFACTOR = (
    "atomic_refactor",
    {"files": ["a.txt"], "old": "old", "new": "new", "check": "true"},
)
CHANGES = [WRITE, EDIT, UPDATE, DELETE_BY_PATCH, MOVE, MOVE_OVER, DELETE, ATOMIC, REFACTOR]
NAMES = [
    "write",
    "edit",
    "patch",
    "patch-delete",
    "move",
    "move-over",
    "delete",
    "atomic-edit",
    "atomic-refactor",
]


@pytest.mark.rows(3)
@pytest.mark.parametrize(("name", "arguments"), CHANGES, ids=NAMES)
def test_a_file_that_changes_during_the_question_is_left_alone(name, arguments, work, call):
    file = work / "a.txt"
    file.write_text("old\n")
    (work / "c.txt").write_text("other\n")
    precious = "old\nprecious unsaved work\n"
    data, asked = call(name, arguments, meanwhile=lambda: file.write_text(precious))
    assert asked == [name]
    assert data["error_class"] == "stale_read"
    assert file.read_text() == precious


@pytest.mark.rows(3)
@pytest.mark.parametrize(("name", "arguments"), CHANGES, ids=NAMES)
def test_a_file_that_stays_as_it_was_shown_is_changed(name, arguments, work, call):
    (work / "a.txt").write_text("old\n")
    (work / "c.txt").write_text("other\n")
    # Somebody saves it again without a change.
    data, _ = call(name, arguments, meanwhile=lambda: (work / "a.txt").write_bytes(b"old\n"))
    if name in {"delete_file", "move_file"}:
        # Their previews read no content: the time counts, and it has changed.
        assert data["error_class"] in {"", "stale_read"}
        data, _ = call(name, arguments)
    assert data["status"] == "ok", data["output"]


def test_a_file_that_appears_during_the_question_is_left_alone(work, call):
    file = work / "a.txt"
    data, asked = call(*WRITE, meanwhile=lambda: file.write_text("mine\n"))
    assert (asked, data["error_class"]) == (["write_file"], "stale_read")
    assert file.read_text() == "mine\n"


@pytest.mark.parametrize(("name", "arguments"), [WRITE, EDIT, DELETE, MOVE])
def test_a_path_that_becomes_a_link_during_the_question_changes_nothing(
    name, arguments, work, call
):
    key = "source" if name == "move_file" else "path"
    arguments = {**arguments, key: "d/a.txt"}
    for folder in ("one", "two"):
        (work / folder).mkdir()
        (work / folder / "a.txt").write_text("old\n")
    (work / "d").symlink_to("one")

    def swap():
        (work / "d").unlink()
        (work / "d").symlink_to("two")

    data, _ = call(name, arguments, meanwhile=swap)
    assert data["error_class"] == "stale_read"
    assert (work / "two/a.txt").read_text() == "old\n"


@pytest.mark.parametrize("target", ["b.txt", "../outside"])
def test_a_file_in_place_of_the_link_that_was_shown_is_not_deleted(target, work, call):
    (work / "a.txt").symlink_to(target)
    (work / "b.txt").write_text("b\n")

    def swap():
        (work / "a.txt").unlink()
        (work / "a.txt").write_text("precious\n")

    data, _ = call(*DELETE, meanwhile=swap)
    assert data["error_class"] == "stale_read"
    assert (work / "a.txt").read_text() == "precious\n"


def test_a_command_runs_in_the_directory_that_was_shown_or_not_at_all(work, call):
    for folder in ("sub", "other"):
        (work / folder).mkdir()
        (work / folder / "build").touch()

    def swap():
        (work / "sub").rename(work / "was")
        (work / "other").rename(work / "sub")

    arguments = {"command": "rm build", "workdir": "sub", "access": "write"}
    data, asked = call("bash", arguments, meanwhile=swap)
    assert (asked, data["error_class"]) == (["bash"], "stale_read")
    assert (work / "sub/build").exists()
    assert (work / "was/build").exists()


def test_a_file_that_the_call_itself_changes_twice_is_no_surprise(work, call):
    lost = "def old():\n    pass\n"
    (work / "a.py").write_text(lost)
    arguments = {"files": ["a.py"], "old": "old", "new": "new", "check": "sed -i s/pass/1/ a.py"}
    data, _ = call("atomic_refactor", arguments)
    assert data["status"] == "ok", data["output"]
    assert (work / "a.py").read_text() == "def new():\n    1\n"


@pytest.mark.parametrize("pattern", ["src/**", "**", "*"])
def test_a_rule_for_paths_grants_no_shell(pattern, work, call):
    (work / "src").mkdir()
    (work / "src/f.txt").write_text("old\n")
    arguments = {"files": ["src/f.txt"], "old": "old", "new": "new", "check": "touch mark"}
    rule = f'[plugins.policy-rules]\nallow = ["atomic_refactor({pattern})"]\n'
    data, asked = call("atomic_refactor", arguments, config=rule)
    # The steps that edit are not covered either; each is judged by itself.
    assert asked == ["write_file", "bash"]
    whole = '[plugins.policy-rules]\nallow = ["atomic_refactor"]\n'
    (work / "src/f.txt").write_text("old\n")
    assert call("atomic_refactor", arguments, config=whole)[1] == []
    assert data["status"] == "ok"


@pytest.mark.parametrize(
    ("rule", "check"),
    [('deny = ["bash(touch *)"]', "touch x"), ("", "rm -rf /"), ("", "mkfs /dev/sda")],
)
def test_what_forbids_a_command_sees_the_one_of_a_composed_tool(rule, check, work, call):
    (work / "f.txt").write_text("old\n")
    arguments = {"files": ["f.txt"], "old": "old", "new": "new", "check": check}
    config = f"[plugins.policy-rules]\n{rule}\n"
    data, asked = call("atomic_refactor", arguments, mode="auto", config=config)
    assert (data["status"], asked) == ("denied", [])
    assert (work / "f.txt").read_text() == "old\n"
    server = {"action": "start", "command": check}
    data, asked = call("dev_server", server, mode="auto", config=config)
    assert (data["status"], asked) == ("denied", [])


DELETIONS = [
    PATCH.format("*** Delete File: n.txt\n"),
    "--- a/n.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-n\n",
    (
        "diff --git a/n.txt b/n.txt\ndeleted file mode 100644\n--- a/n.txt\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-n\n"
    ),
    "diff --git a/n.txt b/n.txt\ndeleted file mode 100644\nindex ce01362..0000000\n",
    "```\n" + PATCH.format("*** Add File: m.txt\n+m\n*** Delete File: n.txt\n") + "```\n",
]


@pytest.mark.rows(2)
@pytest.mark.parametrize("patch", DELETIONS, ids=["envelope", "unified", "git", "bare", "fenced"])
def test_a_patch_that_deletes_asks_in_mode_edits(patch, work, call):
    (work / "n.txt").write_text("n\n")
    _, asked = call("apply_patch", {"patch": patch}, mode="edits")
    assert asked == ["apply_patch"]
    assert not (work / "n.txt").exists()
    change = PATCH.format("*** Add File: n.txt\n+n\n")
    assert call("apply_patch", {"patch": change}, mode="edits")[1] == []
