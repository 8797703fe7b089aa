"""What batches and evaluations share: figures, charts, the store, limits, workspaces."""

import json
import os
import re
from pathlib import Path

import pytest
from nanocoder import UsageError
from nanocoder_kit_batch import Defaults, Rate, Results, Tally, failure_of, quantile, read_tasks
from nanocoder_kit_batch.charts import Interval, bars, histogram, intervals
from nanocoder_kit_batch.statistics import bootstrap, mcnemar, wilson
from nanocoder_kit_batch.summary import summary_page
from nanocoder_kit_batch.workspaces import remove_own_folder, workspace_of


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


def test_a_summary_says_what_is_still_to_do():
    page = summary_page("Batch", [result("a"), result("b", checked=False)], 5)
    assert "2 results of 5 tasks; 3 are still to do" in page


def test_the_store_refuses_a_line_that_is_no_result(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"id": 1}\n{"a": 2}\n')
    with Results(tmp_path) as results, pytest.raises(UsageError, match="jsonl:1: is not a result"):
        list(results)


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
