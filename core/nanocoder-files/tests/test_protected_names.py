"""The list of protected names, for sandboxes that compare names themselves."""

import pytest
from nanocoder_files import PROTECTED_NAMES, protection_of


@pytest.mark.parametrize("pattern", PROTECTED_NAMES)
def test_each_listed_pattern_is_protected_with_all_below(pattern):
    assert protection_of(f"sub/{pattern.replace('*', 'x')}/below")
