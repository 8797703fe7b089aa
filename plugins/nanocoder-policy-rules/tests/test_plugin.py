import subprocess
import sys

from nanocoder_policy_rules import Settings, nanocoder_settings


def test_the_plugin_has_settings_with_a_default_for_each():
    assert nanocoder_settings() is Settings
    assert Settings().deny == ()


def test_a_project_may_add_to_what_is_strict_and_to_nothing_else():
    import attrs

    fields = {field.name: field.metadata.get("tighten") for field in attrs.fields(Settings)}
    assert fields == {
        "deny": "union",
        "ask": "union",
        "allow": None,
        "rules": "union",
        "only_managed_allow": "true",
        "replace_secrets": None,
        "secrets": "union",
        "not_secrets": None,
        "blocklist": "true",
        "ask_in_steps": "true",
        "ignore": "union",
        "not_ignored": None,
        "redact_results": None,
        "refuse_placeholders": None,
        "redactor": None,
        "sandboxed": None,
    }
    loosening = ("sandboxed", "not_ignored", "redact_results", "refuse_placeholders")
    for name in loosening:
        assert getattr(attrs.fields(Settings), name).metadata["user_only"]


def test_it_imports_nothing_slow():
    script = (
        "import sys, nanocoder_policy_rules\n"
        "slow = {'asyncio', 'httpx', 'rich', 'cattrs', 'inspect', 'subprocess'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "cattrs" not in process.stdout
    assert "asyncio" not in process.stdout
