"""Rules of an administrator, in the real place: /etc of a mount namespace."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files that count"),
]
COMMAND = str(Path(sys.executable).with_name("nanocoder"))
MOUNT = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"']


@pytest.fixture
def managed(nanocoder, tmp_path):
    """Run nanocoder where /etc/nanocoder/config.toml has a text: managed(text, *words)."""
    etc = tmp_path / "etc"
    (etc / "nanocoder").mkdir(parents=True)
    for name in ("passwd", "group", "ld.so.cache"):
        (etc / name).write_bytes(Path("/etc", name).read_bytes())

    def run(text, *words, env=()):
        (etc / "nanocoder/config.toml").write_text(text)
        return subprocess.run(
            [*MOUNT, str(etc), COMMAND, *words],
            env={**nanocoder.environment, **dict(env)},
            cwd=nanocoder.cwd,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def write_own(nanocoder, text):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


DENY = '[plugins.policy-rules]\ndeny = [\n  "bash(curl *)",\n]\n'


@pytest.mark.contract("C8")
@pytest.mark.parametrize(
    "own",
    [
        'mode = "auto"\n[plugins.policy-rules]\nallow = ["bash"]\n',
        '[plugins.policy-rules]\ndeny = []\nallow = ["bash(curl http://127.0.0.1:1/)"]\n',
        '[plugins]\ndisable = ["policy-rules"]\n',
        '[[plugins.policy-rules.rules]]\ntool = "*"\nverdict = "allow"\n',
    ],
)
def test_no_layer_lifts_a_managed_denial(nanocoder, managed, own):  # CONF-012
    write_own(nanocoder, own)
    call = json.dumps({"command": "curl http://127.0.0.1:1/"})
    variables = {"NANOCODER_MODE": "auto", "XDG_CONFIG_DIRS": str(nanocoder.home)}
    done = managed(DENY, "call", "--mode", "auto", "bash", call, env=variables)
    assert done.returncode == 6, done.stderr
    explained = managed(DENY, "policy", "explain", "bash", call)
    assert "deny: the rule 'bash(curl *)' forbids it" in explained.stdout
    assert "/etc/nanocoder/config.toml:3 (managed)" in explained.stdout


def test_an_administrator_may_leave_no_allow_rule_to_users(nanocoder, managed):
    own = '[plugins.policy-rules]\nallow = ["bash(make *)"]\n'
    own += '[[plugins.policy-rules.rules]]\ntool = "write_file"\nverdict = "allow"\n'
    write_own(nanocoder, own)
    limits = '[plugins.policy-rules]\nonly_managed_allow = true\nallow = ["bash(ninja *)"]\n'
    for tool, arguments, decision in (
        ("bash", {"command": "make x"}, "ask"),
        ("write_file", {"path": "a", "content": ""}, "ask"),
        ("bash", {"command": "ninja x"}, "allow"),
    ):
        done = managed(limits, "policy", "explain", tool, json.dumps(arguments))
        assert done.stdout.startswith(f"{decision}: "), done.stdout
    checked = managed(limits, "doctor")
    assert "'write_file' does not count: this file may not allow anything" in checked.stdout
    assert "plugins.policy-rules.allow: /etc/nanocoder/config.toml:3 (managed) sets it" in (
        checked.stdout
    )


def test_no_grant_counts_where_only_managed_rules_allow(judge):
    assert judge("bash", {"command": "make"}).grants == ("bash(make)",)
    verdict = judge("bash", {"command": "make"}, only_managed_allow=True)
    assert (str(verdict.decision), verdict.grants) == ("ask", ())


def test_managed_rules_without_their_plugin_stop_the_start(managed):
    done = managed("[plugins.policy-rulez]\n", "call", "list_files", "{}")
    assert done.returncode == 2
    assert (
        "/etc/nanocoder/config.toml:1 (managed): there is no plugin 'policy-rulez'" in done.stderr
    )
