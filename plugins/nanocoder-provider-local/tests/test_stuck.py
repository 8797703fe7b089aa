"""A small model's reply that repeats itself is stopped early."""

import pytest
from nanocoder import repeats_itself
from nanocoder_provider_local.provider import STUCK_CHARS


@pytest.mark.parametrize("piece", ["0", "\\n", "    return x\\n"])
def test_a_reply_that_repeats_one_piece_without_end_is_noticed(piece):
    assert repeats_itself(
        '{"action": "write_file", "path": "a", "content": "' + piece * 900, STUCK_CHARS
    )


def test_ordinary_long_text_is_not_taken_for_a_loop():
    assert not repeats_itself(
        "".join(f"line {number} = {number}\\n" for number in range(200)), STUCK_CHARS
    )
    assert not repeats_itself("0" * 200, STUCK_CHARS)
