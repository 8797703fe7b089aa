"""Tables fit a terminal's width with all that is in them; elsewhere a row is one whole line."""

from collections import Counter

import pytest
from nanocoder_kit_files.table import cells_of, print_table, printing

pytestmark = pytest.mark.timeout(60)
LONG = '["xylophone", "accordion", "harmonica", "clarinet", "tambourine", "mandolin"]'


def letters(printed):
    """Count the letters: wrapping moves them about and adds spaces alone."""
    return Counter("".join(printed.split()))


@pytest.mark.parametrize("words", [("doctor",), ("config", "show")], ids=lambda words: words[0])
@pytest.mark.parametrize("columns", [60, 200])
def test_a_table_fits_the_terminal_and_nothing_of_it_is_lost(nanocoder, columns, words):
    lines = nanocoder.on_terminal(*words, columns=columns).splitlines()
    assert max(map(len, lines)) <= columns
    assert letters("".join(lines)) == letters(nanocoder(*words).stdout)


def test_a_pipe_gets_each_row_whole_on_a_line_of_its_own(nanocoder):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"tools.disable = {LONG}\n", encoding="utf-8")
    shown = nanocoder("config", "show").stdout.splitlines()
    (row,) = (line for line in shown if line.startswith("tools.disable"))
    assert row.removeprefix("tools.disable").strip() == f"{LONG}  {file}:1"
    # One long value does not move the others' last column out of sight.
    (mode,) = (line for line in shown if line.startswith("mode "))
    assert len(mode) < 130


@pytest.fixture
def printed(monkeypatch, capsys):
    """Return a function that prints a table on a terminal of *columns*; 0: in a pipe."""

    def lines(columns, *table):
        monkeypatch.setattr(printing, "terminal_width", lambda: columns)
        print_table(*table)
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.mark.parametrize("columns", [20, 33, 60])
def test_wide_letters_count_as_the_two_columns_that_they_take(printed, columns):
    rows = [("一二三四五六七八九十" * 3, "e\u0301 acute", 1), ("plain", "x" * 70, 1_000)]
    lines = printed(columns, ("one", "two", "n"), rows)
    assert max(map(cells_of, lines)) <= columns
    joined = "".join("".join(lines).split())
    assert joined.count("x") == 70
    assert all(joined.count(letter) == 3 for letter in "一二三四五六七八九十")


@pytest.mark.parametrize(
    ("text", "cells"), [("plain", 5), ("한글", 4), ("e\u0301", 1), ("✓\ufe0f", 1), ("ที่", 1)]
)
def test_marks_that_stand_over_a_letter_take_no_column(text, cells):
    assert cells_of(text) == cells


def test_columns_too_narrow_to_read_become_lines_with_their_heads(printed):
    head = ("tool", "calls", "errors", "p50", "p95", "p99", "max", "objectives")
    row = ("mcp_time_get", 3, "0 (0.0%)", "12 ms", "15 ms", "15 ms", "15 ms", "none")
    assert printed(50, head, [row, row])[:8] == [
        "tool: mcp_time_get",
        "  calls: 3",
        "  errors: 0 (0.0%)",
        "  p50: 12 ms",
        "  p95: 15 ms",
        "  p99: 15 ms",
        "  max: 15 ms",
        "  objectives: none",
    ]
    assert len(printed(80, head, [row, row])) == 3
    wider = (*head[:2], "answered", "denied", *head[2:])
    shown = printed(80, wider, [(*row[:2], 3, 0, *row[2:])])
    assert shown[0].split() == list(wider)
    assert [line.split()[0] for line in shown[1:]] == ["mcp_", "time_", "get"]


def test_a_number_is_whole_in_a_narrow_column_and_breaks_before_its_unit(printed):
    assert printed(20, ("p50", "p95", "objectives"), [("8.4 ms", "9.5 ms", "none")]) == [
        "p50  p95  objectives",
        "8.4  9.5  none",
        "ms   ms",
    ]


@pytest.mark.parametrize("columns", [24, 40, 50, 60])
def test_an_id_is_never_split(printed, columns):
    session = "20261122-044755-ghdn"
    head = ("session", "last used", "turns", "directory", "title")
    row = (session, "59 min ago", 12, "/home/someone/project", "Write a function that greets")
    lines = printed(columns, head, [row])
    assert max(map(cells_of, lines)) <= columns
    assert any(session in line for line in lines)
    assert letters("".join(row[4])) <= letters("".join(lines))


def test_a_cell_without_text_has_no_line_in_a_narrow_terminal(printed):
    rows = [("20261122-044755-ghdn", "", "two\nlines")]
    assert printed(20, ("session", "tags", "title"), rows) == [
        "session:",
        "20261122-044755-ghdn",
        "  title: two",
        "  lines",
    ]


def test_lines_of_a_cell_stay_in_their_column_and_become_one_in_a_pipe(printed):
    table = (("check", "detail"), [("model", "none.\nTake one")])
    assert printed(40, *table)[1:] == [
        "model  none.",
        "       Take one",
    ]
    assert printed(0, *table)[1:] == ["model  none. Take one"]
