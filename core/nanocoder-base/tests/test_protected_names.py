"""The list of protected names, for sandboxes that compare names themselves."""

import pytest
from nanocoder_files import PROTECTED_NAMES, protection_of


@pytest.mark.parametrize(
    "name",
    [
        *(
            "opencode.json",
            "crush.json",
            ".qwen/settings.json",
            "Lefthook-Local.yml",
            ".lefthook.toml",
        ),
        *(".mise.local.toml", "mise.production.toml", ".Rprofile", ".irbrc", "x.code-workspace"),
        *(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "sub/.goose/config.yaml"),
    ],
)
def test_what_runs_when_a_folder_is_opened_or_an_interpreter_starts_is_protected(name):
    assert protection_of(name) is not None


@pytest.mark.parametrize(
    "name", ["mise.py", "lefthook", "opencode.md", "pre-commit.md", ".eslintrc.js", "conftest.py"]
)
def test_what_a_build_runs_and_what_only_has_such_a_name_is_not(name):
    assert protection_of(name) is None


@pytest.mark.parametrize("pattern", PROTECTED_NAMES)
def test_each_listed_pattern_is_protected_with_all_below(pattern):
    assert protection_of(f"sub/{pattern.replace('*', 'x')}/below")
