"""How choices are described."""

import time

from nanocoder_kit_chat.choices import age, size


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
