"""How choices are described."""

import time
from types import SimpleNamespace

import pytest
from nanocoder_kit_ui.chat.choices import Sessions, age, size


def test_ages_and_sizes_are_rough():
    now = time.time()
    ages = [age(now - seconds) for seconds in (-5, 59, 61, 7_300, 86_500, 300_000)]
    assert ages == ["just now", "just now", "1 min ago", "2 h ago", "1 day ago", "3 days ago"]
    assert [size(count) for count in (1, 999, 34_100, 2_340_000)] == [
        "1 byte",
        "999 bytes",
        "34 kB",
        "2.3 MB",
    ]


@pytest.mark.parametrize("width", [79, 100])
def test_a_list_of_sessions_fits_beside_its_longest_cells(width):
    listed = [
        SimpleNamespace(
            id=f"20261128-195644-x7m{number}",
            title="Fix the parser and its tests, " * 4,
            updated=time.time() - 29 * 86_400,
            prompts=12,
            size=999,
        )
        for number in range(9)
    ]
    sessions = Sessions(list, "", lambda text, columns: text[:columns])
    rows = sessions.rows(listed, width)
    assert max(len("  ".join(row)) for row in rows) <= width
    assert min(len(title) for _, title, *_ in rows) >= 12
    assert sessions.rows([], width) == []
