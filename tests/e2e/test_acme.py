"""A company's own packages beside ours: installed, used, and nothing of the core changed."""

import hashlib
import json

import pytest

pytestmark = pytest.mark.timeout(600)

COMPANY = ("acme-nanocoder-deploy", "acme-nanocoder-branches", "acme-nanocoder-ui")
TICKETS = {"DEP-7": {"service": "shop", "version": "1.2.3", "state": "waiting", "owner": "ada"}}


@pytest.fixture(scope="module")
def installed(make_installed):
    return make_installed("nanocoder-tool-bash", "nanocoder-provider-scripted")


def core_digest(installed):
    """Return a digest of every file of the installed core."""
    (folder,) = installed.folder.glob("venv/lib/python*/site-packages/nanocoder")
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.mark.contract("LC-04")
def test_a_companys_tool_policy_and_renderer_are_three_packages_and_no_change_to_the_core(
    installed, tmp_path
):
    before = core_digest(installed)
    installed.install(*COMPANY)
    assert core_digest(installed) == before
    (tmp_path / "deploy-tickets.json").write_text(json.dumps(TICKETS))
    shown = json.loads(installed.nanocoder("plugins", "list", "--output", "json").stdout)
    names = {one["name"] for one in shown if not one["set_aside"]}
    assert {"acme-deploy", "acme-policy-branches", "acme-ui"} <= names

    found = installed.nanocoder("call", "deploy_ticket", '{"number": "DEP-7"}', cwd=tmp_path)
    assert found.stdout == "service: shop\nversion: 1.2.3\nstate: waiting\nowner: ada\n"

    push = json.dumps({"command": "git -C . push origin main"})
    refused = installed.nanocoder("call", "bash", push, "--mode", "auto", cwd=tmp_path)
    assert refused.returncode == 6
    assert "'main' is protected" in refused.stderr
    why = installed.nanocoder("policy", "explain", "bash", push, "--mode", "auto", cwd=tmp_path)
    assert why.stdout.startswith("deny: the branch 'main' is protected")
    assert "acme-policy-branches" in why.stdout

    turns = [
        {"calls": [{"name": "deploy_ticket", "arguments": {"number": "DEP-7"}}]},
        {"text": "DEP-7 waits for its window."},
    ]
    (tmp_path / "turns.json").write_text(json.dumps({"turns": turns}))
    words = ("run", "--model", "scripted/turns.json", "How is DEP-7?")
    assert installed.nanocoder(*words, cwd=tmp_path).stdout == "DEP-7 waits for its window.\n"


def test_without_the_policy_the_push_is_only_asked_about(installed, tmp_path):
    installed.install(*COMPANY)
    installed.uv("uninstall", "acme-nanocoder-branches")
    push = json.dumps({"command": "git push origin main"})
    done = installed.nanocoder("call", "bash", push, cwd=tmp_path)
    assert done.returncode == 3
