"""A model's size, by its name or its server's words."""

import pytest
from nanocoder_kit_llm.http import is_small


@pytest.mark.contract("F11")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qwen2.5-coder:1.5b", True),
        ("Llama-3.2-3B-Instruct-Q4_K_M.gguf", True),
        ("gemma3:270m", True),
        ("gemma-3n-E4B-it", True),
        ("3.8B", True),
        ("qwen3:8b", False),
        ("qwen3-30b-a3b", False),
        ("gpt-5.5", False),
        ("claude-sonnet-4-6", False),
        ("mistral-small-2b0", False),
        ("", False),
    ],
)
def test_a_small_model_is_known_by_the_number_of_its_parameters(text, expected):
    assert is_small(text) is expected
