"""What batches and evaluations share: figures, charts, the store, limits, workspaces."""

import io
import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from nanocoder import Cancel, UsageError
from nanocoder_kit_batch import Defaults, Rate, Results, Tally, failure_of, quantile, read_tasks
from nanocoder_kit_batch.charts import Interval, bars, histogram, intervals
from nanocoder_kit_batch.own_files import write_own
from nanocoder_kit_batch.page import table
from nanocoder_kit_batch.patches import diff_of
from nanocoder_kit_batch.processes import LEASE_S, Gate, ProcessSettings, cancelled_when
from nanocoder_kit_batch.progress import Bar, JsonEvents
from nanocoder_kit_batch.statistics import bootstrap, mcnemar, wilson
from nanocoder_kit_batch.suites import read_folder
from nanocoder_kit_batch.summary import summary_page
from nanocoder_kit_batch.tally import price_of
from nanocoder_kit_batch.trees import copy_tree
from nanocoder_kit_batch.workspaces import TaskWorkspace, remove_own_folder, workspace_of
from nanocoder_kit_process.trees import remove_tree


def result(name, **more):
    usage = {"input_tokens": 10, "output_tokens": 5}
    row = {"id": name, "key": f"key-{name}", "stop_reason": "done", "checked": None}
    return {
        **row,
        "usage": usage,
        "cost": 0.5,
        "seconds": 2.0,
        "error": None,
        "model": "m/x",
        **more,
    }


def test_a_task_that_lacked_an_approval_names_the_calls():
    refused = [{"tool": "bash", "reason": "approval needed: bash was not run"}]
    stopped = result("a", stop_reason="approval_needed", denied=refused, files_changed=[])
    bar, events = io.StringIO(), io.StringIO()
    Bar(bar, 100, "r").finished(stopped, Tally())
    assert "failed: a: approval_needed approval needed: bash was not run" in bar.getvalue()
    JsonEvents(events).finished(stopped, Tally())
    assert json.loads(events.getvalue())["denied"] == refused


def test_what_costs_nothing_is_free():
    assert [price_of(cost) for cost in (0.0, 0.004)] == ["free", "$0.0040"]
    assert "free" in summary_page("Batch", [result("a", cost=0.0)], 1)


def test_the_interval_of_a_share_is_wilsons():
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(50, 100)
    assert (round(low, 4), round(high, 4)) == (0.4038, 0.5962)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == pytest.approx(1.0)


def test_the_bootstrap_is_the_same_each_time_and_holds_the_mean():
    values = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0]
    low, high = bootstrap(values)
    assert (low, high) == bootstrap(values)
    assert low < sum(values) / len(values) < high
    assert bootstrap([]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("pair", "p"), [((0, 0), 1.0), ((5, 5), 1.0), ((0, 5), 0.0625), ((1, 9), 0.0215)]
)
def test_the_paired_test_is_exact(pair, p):
    assert mcnemar(*pair) == pytest.approx(p, abs=1e-4)


def test_a_result_is_a_failure_by_its_reason_or_its_check():
    assert failure_of(result("a")) == ""
    assert failure_of(result("a", checked=True)) == ""
    assert failure_of(result("a", checked=False)) == "check_failed"
    assert failure_of(result("a", stop_reason="turn_limit")) == "turn_limit"
    error = {"class": "provider", "kind": "overloaded", "message": "x"}
    assert failure_of(result("a", stop_reason="provider_error", error=error)) == "overloaded"


def test_a_tally_counts_and_adds_up():
    tally = Tally()
    for row in (result("a"), result("b", checked=False), result("c", cost=None)):
        tally.add(row)
    assert (tally.total, tally.solved, tally.failed, tally.cost) == (3, 2, 1, 1.0)
    assert tally.data()["failures"] == {"check_failed": 1}
    assert quantile([3, 1, 2], 0.5) == 2


def test_a_rate_lets_a_burst_through_and_then_one_a_step():
    rate = Rate(60.0)
    assert [round(rate.delay_s(100.0), 6) for _ in range(8)] == [0, 0, 0, 0, 0, 0, 1, 2]
    assert rate.delay_s(200.0) == 0.0


def test_the_gate_has_so_many_places_for_all_workers_and_none_for_others():
    gate = Gate({"m": 2}, {})
    assert [gate.take("m", worker) for worker in ("a", "b", "c")] == [0.0, 0.0, None]
    assert gate.take("other", "c") == 0.0
    gate.give_back("m", "c")  # it has none
    assert gate.take("m", "c") is None
    gate.give_back("m", "a")
    assert (gate.take("m", "c"), gate.take("m", "a")) == (0.0, None)


def test_the_gate_takes_places_back_from_a_worker_that_says_nothing():
    now = 0.0
    gate = Gate({"m": 2}, {}, clock=lambda: now)
    gate.take("m", "dead")
    gate.take("m", "alive")
    now = LEASE_S - 1
    assert gate.is_over("alive") is False
    assert gate.take("m", "next") is None
    now = LEASE_S
    assert (gate.take("m", "next"), gate.take("m", "last")) == (0.0, None)
    gate.give_back("m", "dead")  # it comes too late, and leaves the others their places
    assert gate.take("m", "last") is None
    gate.end()
    assert gate.is_over("alive") is True


def test_the_gate_says_in_how_many_seconds_a_request_may_be_sent():
    gate = Gate({}, {"m": 6.0})
    assert gate.take("m", "a") == 0.0
    assert gate.take("m", "b") == pytest.approx(10.0, abs=0.5)


def test_the_number_of_processes_is_that_of_the_command_then_of_the_settings_then_of_the_cores():
    settings = ProcessSettings(workers=3)
    assert settings.number_of_workers({"workers": 2}, range(9)) == 2
    assert settings.number_of_workers({"workers": 0}, range(9)) == 3
    assert settings.number_of_workers({"workers": 0}, range(1)) == 1
    assert ProcessSettings().number_of_workers({"workers": 0}, range(999)) == os.cpu_count()


def test_a_task_is_interrupted_once_its_batch_is_over():
    cancel, is_over = Cancel(), iter([False, True])
    with cancelled_when(lambda: next(is_over), cancel):
        assert cancel.wait(10)
    assert cancel.reason == "interrupted"


def test_charts_are_whole_and_hold_no_markup_of_others():
    charts = [
        bars("Why", {"<script>": 3.0, "b": 1.0}),
        intervals("Share", [Interval("m", 0.5, 0.4, 0.6)]),
        histogram("Cost", [0.0, 1.0, 2.0], str),
        histogram("Nothing", [], str),
    ]
    for chart in charts:
        assert chart.count("<svg") == chart.count("</svg>") == 1
        assert "<script" not in chart
        assert not re.search(r"nan|inf\b", chart)


def test_values_that_are_all_nothing_are_said_and_not_drawn():
    chart = histogram("Cost", [0.0, 0.0], lambda value: f"${value:.4f}")
    assert "$0.0000 each" in chart
    assert "<rect" not in chart


def test_a_summary_says_why_a_task_that_needed_approval_failed():
    denied = [{"tool": "write_file", "reason": "mode ask needs your approval"}]
    needing = result("a", stop_reason="approval_needed", denied=denied)
    assert "mode ask needs your approval" in summary_page("Batch", [needing], 1)


def test_a_summary_says_what_is_still_to_do():
    page = summary_page("Batch", [result("a"), result("b", checked=False)], 5)
    assert "2 results of 5 tasks; 3 are still to do" in page


def test_the_store_refuses_a_line_that_is_no_result(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"id": 1}\n{"a": 2}\n')
    with Results(tmp_path) as results, pytest.raises(UsageError, match="jsonl:1: is not a result"):
        list(results)


@pytest.mark.parametrize(
    "change",
    [
        {"key": ["a"]},
        {"stop_reason": None},
        {"usage": {}},
        {"cost": "much"},
        {"checked": "no"},
        {"error": []},
        {"seconds": True},
    ],
)
def test_the_store_refuses_a_result_of_wrong_types(tmp_path, change):
    lines = [result("a"), result("b", **change)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "results.jsonl").write_text(text)
    with pytest.raises(UsageError, match="jsonl:2: is not a result"):
        list(Results(tmp_path))


def test_the_store_refuses_a_line_that_is_nested_without_end(tmp_path):
    (tmp_path / "results.jsonl").write_text("[" * 200_000 + "\n")
    with pytest.raises(UsageError, match="jsonl:1: is not a result"):
        list(Results(tmp_path))


def test_dropped_results_go_in_one_step_and_others_stay(tmp_path):
    with Results(tmp_path) as results:
        for name in "abc":
            results.add(result(name), {"answer.txt": name})
        results.drop({"key-b"})
        results.add(result("d"), {})
        assert [row["id"] for row in results] == ["a", "c", "d"]
    assert (tmp_path / "artifacts" / "key-a" / "answer.txt").read_text() == "a"


def defaults(folder):
    return Defaults(cwd=folder, providers=["scripted"])


def test_tasks_that_differ_in_anything_have_other_keys(tmp_path):
    rows = [{}, {"prompt": "y"}, {"seed": 1}, {"check": "true"}, {"budget": 1}, {"mode": "auto"}]
    file = tmp_path / "tasks.jsonl"
    keys = set()
    for row in rows:
        file.write_text(json.dumps({"id": "a", "prompt": "x", **row}))
        keys |= {task.key for task in read_tasks(str(file), defaults(tmp_path))}
    assert len(keys) == len(rows)


def job(folder):
    return {"cwd": str(folder), "revision": ""}


def test_a_copy_has_links_modes_and_folders_but_no_foreign_repository(tmp_path):
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "run").write_text("x")
    (source / "inner" / "run").chmod(0o755)
    (source / "link").symlink_to("inner/run")
    (source / ".git").write_text("gitdir: /elsewhere")
    os.mkfifo(source / "pipe")
    with workspace_of(job(source)) as workspace:
        assert os.access(workspace.folder / "inner" / "run", os.X_OK)
        assert os.readlink(workspace.folder / "link") == "inner/run"
        assert not (workspace.folder / ".git").exists()
        assert workspace.changed() == []
        (workspace.folder / "inner" / "run").write_text("y")
        (workspace.folder / "link").unlink()
        (workspace.folder / "__pycache__").mkdir()
        (workspace.folder / "__pycache__" / "a.pyc").write_text("")
        assert workspace.changed() == ["inner/run", "link"]
        folder = workspace.folder
    assert not folder.exists()
    remove_own_folder()


def test_a_folder_that_a_killed_process_left_is_removed_and_that_of_another_stays(
    tmp_path, monkeypatch
):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove_own_folder()
    dead = Path(tempfile.mkdtemp(prefix="nanocoder-batch-"))
    (dead / "lock").touch()
    young = Path(tempfile.mkdtemp(prefix="nanocoder-batch-"))
    (tmp_path / "source").mkdir()
    with workspace_of(job(tmp_path / "source")):
        assert not dead.exists()
        assert young.exists()
    remove_own_folder()


@pytest.mark.parametrize("name", ["results.jsonl", "artifacts", "lock", "summary.html", "any"])
def test_a_link_in_the_results_folder_is_refused_and_its_target_stays(tmp_path, name):
    target = tmp_path / "mine"
    target.write_text("one line\nand a torn one")
    results = tmp_path / "results"
    results.mkdir()
    (results / name).symlink_to(target)
    with pytest.raises(UsageError, match=f"{name} is a link"), Results(results):
        pass
    assert target.read_text() == "one line\nand a torn one"


def test_no_file_of_a_results_folder_is_written_through_a_link(tmp_path):
    target = tmp_path / "mine"
    target.write_text("mine")
    folder = tmp_path / "results"
    with Results(folder) as results:
        results.add(result("a", key="aa"), {"answer.txt": "x"})
        for name in ("results.new", ".results.jsonl.new"):
            (folder / name).symlink_to(target)
        results.drop({"aa"})
        (folder / "artifacts").rmdir()
        (folder / "artifacts").symlink_to(tmp_path)
        with pytest.raises(UsageError, match="artifacts is a link"):
            results.add(result("a", key="aa"), {"answer.txt": "x"})
        with pytest.raises(UsageError, match="artifacts is a link"):
            results.drop({"aa"})
    (folder / "summary.html").symlink_to(target)
    with pytest.raises(UsageError, match="is a link"):
        write_own(folder, "summary.html", [b"page"])
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "results"]


def test_results_are_for_their_owner_alone_and_no_pipe_stops_them(tmp_path):
    folder = tmp_path / "results"
    with Results(folder) as results:
        results.add(result("a", key="aa"), {"answer.txt": "x"})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    files = dict.fromkeys(("lock", "results.jsonl", "answer.txt"), 0o600)
    assert modes == {**files, **dict.fromkeys(("results", "artifacts", "aa"), 0o700)}
    (folder / "results.jsonl").unlink()
    os.mkfifo(folder / "results.jsonl")
    with pytest.raises(UsageError, match=r"results.jsonl is a link, or not a regular"):
        Results(folder).__enter__()
    with pytest.raises(UsageError, match="is not a regular file"):
        list(Results(folder))


@pytest.mark.parametrize("key", ["files", "solution"])
@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "", "a//b"])
def test_a_suite_names_no_file_outside_its_task(tmp_path, key, path):
    (tmp_path / "first.toml").write_text(
        f'prompt = "p"\ncheck = "c"\n[{key}]\n{json.dumps(path)} = "x"\n'
    )
    with pytest.raises(UsageError) as raised:
        read_folder(tmp_path)
    assert f"first.toml: {key}: {path!r} is not a path below" in str(raised.value)


def test_a_patch_shows_links_as_links_and_nothing_behind_them(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b").write_text("SECRET\n")
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True)
    (source / "folder" / "b").write_text("plain\n")
    (source / "file").write_text("text\n")
    (source / "old").symlink_to("before")
    (source / "gone").symlink_to("file")
    (source / "way").symlink_to(tmp_path / "secret")
    with workspace_of(job(source)) as workspace:
        folder = workspace.folder
        (folder / "new").symlink_to(tmp_path / "secret" / "b")
        (folder / "file").unlink()
        (folder / "file").symlink_to(tmp_path / "secret" / "b")
        (folder / "old").unlink()
        (folder / "old").symlink_to("after")
        (folder / "gone").unlink()
        (folder / "folder" / "b").unlink()
        (folder / "folder").rmdir()
        (folder / "folder").symlink_to(tmp_path / "secret")
        (folder / "way").unlink()
        (folder / "way").mkdir()
        (folder / "way" / "b").write_text("mine\n")
        (folder / "large").write_bytes(b"x" * 1_000_001)
        patch = workspace.patch(workspace.changed())
    assert "SECRET" not in patch
    assert "# file too large for a patch: large" in patch
    assert f"+{tmp_path}/secret/b\n" in patch
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    subprocess.run(["git", "apply"], cwd=source, input=patch, text=True, check=True)
    links = {path.name: os.readlink(path) for path in source.iterdir() if path.is_symlink()}
    assert links == {
        "new": f"{tmp_path}/secret/b",
        "file": f"{tmp_path}/secret/b",
        "old": "after",
        "folder": f"{tmp_path}/secret",
    }
    assert (source / "way" / "b").read_text() == "mine\n"
    remove_own_folder()


def deepen(folder, name, levels):
    """Make a chain of folders, which may be longer than any path, with a file x at its end."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    file = os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, b"x\n")
    os.close(file)
    os.close(here)


def test_a_name_with_line_breaks_holds_no_patch_of_another_file(tmp_path):
    name = "a\n--- b\n+++ b.bashrc\n@@ -0,0 +1 @@\n+touch owned"
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    (new / name).write_text("text\n")
    patch = diff_of(old, new, name)
    assert patch.count("\n") == 1
    assert patch.startswith("# a name with control characters has no patch: a ")


@pytest.mark.full
def test_a_tree_of_any_depth_is_compared_shown_and_removed(tmp_path):
    (tmp_path / "source").mkdir()
    with workspace_of(job(tmp_path / "source")) as workspace:
        deep = "d/" * 1_200 + "x"
        deepen(workspace.folder, "d", 1_200)
        deepen(workspace.folder, "long-name", 2_000)
        paths = workspace.changed()
        assert deep in paths
        assert len(paths) == 2
        assert f"+++ b/{deep}\n" in workspace.patch([deep])
        folder = workspace.folder
    assert not folder.parent.exists()
    remove_own_folder()


def test_a_deep_folder_is_copied(tmp_path):
    deep = "d/" * 1_100 + "x"
    (tmp_path / "source").mkdir()
    deepen(tmp_path / "source", "d", 1_100)
    try:
        with workspace_of(job(tmp_path / "source")) as workspace:
            assert (workspace.folder / deep).read_text() == "x\n"
    finally:  # pytest could not remove it
        remove_own_folder()
        remove_tree(tmp_path / "source")


def test_a_leftover_that_cannot_be_removed_stops_no_batch(tmp_path, monkeypatch, capsys):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove_own_folder()
    dead = Path(tempfile.mkdtemp(prefix="nanocoder-batch-"))
    (dead / "lock").touch()
    (tmp_path / "source").mkdir()
    monkeypatch.setattr("os.rmdir", refuse)
    monkeypatch.setattr("pathlib.Path.rmdir", refuse)
    for _ in range(2):
        with workspace_of(job(tmp_path / "source")) as workspace:
            assert workspace.folder.exists()
    monkeypatch.undo()
    assert capsys.readouterr().err.count(f"{dead} cannot be removed as a whole") == 1
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove_own_folder()


def refuse(*_, **__):
    raise PermissionError(13, "Permission denied")


def suite_of(folder, text):
    (folder / "task.toml").write_text(f'prompt = "x"\ncheck = "pass"\n{text}')
    return read_folder(folder)


def test_a_task_begins_with_its_folders_and_permissions(tmp_path):
    text = 'folders = ["a/b", "c"]\n[files]\n"a/x.sh" = "y"\n[modes]\n"a/x.sh" = 0o750\n'
    (task,) = suite_of(tmp_path, text)
    task.lay_out(tmp_path / "new")
    paths = sorted(
        str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*")
    )
    assert paths == ["a", "a/b", "a/x.sh", "c"]
    assert (tmp_path / "new/a/x.sh").stat().st_mode & 0o777 == 0o750
    digests = {task.digest}
    for other in (
        text.replace("0o750", "0o700"),
        text.replace('"c"', '"d"'),
        text.replace('"y"', '"z"'),
    ):
        digests |= {other.digest for other in suite_of(tmp_path, other)}
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('folders = "a"', "folders: expected a list of paths"),
        ('folders = ["../a"]', "folders: '../a' is not a path below"),
        ("folders = [3]", "folders: 3 is not a path below"),
        ("modes = 3", "modes: expected a table"),
        ('modes = { "a" = 0o644 }', "modes: 'a' is none of the files"),
        ('files = { "a" = "" }\nmodes = { "a" = 0o200 }', "permissions such as 0o644 are needed"),
        ('files = { "a" = "" }\nmodes = { "a" = 0o4755 }', "permissions such as 0o644 are needed"),
        ('files = { "a" = "" }\nmodes = { "a" = true }', "permissions such as 0o644 are needed"),
    ],
)
def test_wrong_folders_and_permissions_are_refused(tmp_path, text, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        suite_of(tmp_path, text)


def test_a_long_label_keeps_its_end_which_tells_it_from_others():
    labels = [f"openai/a-model-with-a-long-name-{number}" for number in (1, 2)]
    drawn = intervals("Solved", [Interval(label, 0.5, 0.1, 0.9) for label in labels])
    shown = re.findall(r'text-anchor="end">([^<]*)', drawn)
    assert [label[-7:] for label in shown] == ["-name-1", "-name-2"]
    assert all(len(label) <= 25 for label in shown)


def test_a_word_stays_on_one_line_and_only_numbers_go_to_the_right():
    rows = [("task-00", "20261124-143334-fcj6", "$0.50", "12,000", "x" * 200)]
    assert re.findall(r"<td([^>]*)>", table("abcde", rows)) == [
        *(' class="short"', ' class="short"', ' class="number"', ' class="number"', "")
    ]


@pytest.mark.parametrize("way", ["a file", "a link", "a commondir"])
def test_a_copy_has_no_way_to_a_repository_outside(tmp_path, way):
    git = tmp_path / "source" / ".git"
    git.parent.mkdir()
    if way == "a file":
        git.write_text("gitdir: ../other/.git")
    elif way == "a link":
        git.symlink_to("../other/.git")
    else:
        git.mkdir()
        (git / "commondir").write_text("../../other/.git")
    with workspace_of(job(tmp_path / "source")) as workspace:
        assert not os.path.lexists(workspace.folder / ".git")
    remove_own_folder()


def test_a_copy_knows_where_nanocoders_own_folders_would_be(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    copy, home = tmp_path / "copy", tmp_path / "home"
    places = [".config/nanocoder", ".local/state/nanocoder", ".cache/nanocoder"]
    assert TaskWorkspace(copy, home, {}).own_folders() == [copy / place for place in places]
    assert TaskWorkspace(copy, home / places[0] / "profiles", {}).own_folders() == [copy]
    assert TaskWorkspace(copy, home / "project", {}).own_folders() == []


def test_a_copy_of_a_repository_has_none_of_its_worktrees_and_not_what_vanishes(
    tmp_path, monkeypatch
):
    """Git makes and removes files of other tasks' worktrees while a repository is copied."""
    source = tmp_path / "source"
    (source / ".git/worktrees/ws/logs").mkdir(parents=True)
    (source / ".git/objects").mkdir()
    for name in ("a.txt", ".git/HEAD", ".git/index.lock", ".git/worktrees/ws/HEAD"):
        (source / name).write_text(name)
    copy = shutil.copy2

    def copy_slowly(old, new):
        (source / ".git/index.lock").unlink(missing_ok=True)
        shutil.rmtree(source / ".git/objects", ignore_errors=True)
        return copy(old, new)

    monkeypatch.setattr(shutil, "copy2", copy_slowly)
    copy_tree(source, tmp_path / "copy")
    names = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    assert names - {".git/index.lock", ".git/objects"} == {"a.txt", ".git", ".git/HEAD"}
