"""Plugins that failed stay out until a person restores them, and one that breaks is found."""

import json

import pytest
from nanocoder import Event
from nanocoder_command_quarantine import nanocoder_event
from nanocoder_command_quarantine.bisect import GATES, find_culprits, working_group
from nanocoder_command_quarantine.quarantine import read

pytestmark = pytest.mark.timeout(120)


@pytest.mark.contract("W8")
def test_a_plugin_that_was_set_aside_stays_out_until_it_is_restored(nanocoder):
    state = nanocoder.home / ".local/state/nanocoder"
    state.mkdir(parents=True)
    (state / "quarantine.json").write_text(json.dumps({"tool-glob": "nanocoder_event failed: x"}))
    done = nanocoder("call", "glob", '{"pattern": "*"}')
    assert done.returncode != 0
    assert "plugin 'tool-glob' is disabled: nanocoder_event failed: x" in done.stderr
    assert "(nanocoder plugins restore tool-glob)" in done.stderr

    assert "tool-glob: nanocoder_event failed: x" in nanocoder("plugins", "restore").stdout
    wrong = nanocoder("plugins", "restore", "tool-glib")
    assert wrong.returncode == 2
    assert "'tool-glib' is not quarantined; did you mean 'tool-glob'?" in wrong.stderr
    assert nanocoder("plugins", "restore", "tool-glob").returncode == 0
    assert nanocoder("call", "glob", '{"pattern": "*"}').returncode == 0


def test_a_plugin_that_cannot_be_imported_needs_no_restoring(nanocoder, tmp_path):
    site = tmp_path / "site"
    info = site / "acme_broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: acme-broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nanocoder]\nacme-broken = acme_broken\n")
    (site / "acme_broken.py").write_text("raise RuntimeError('boom')\n")
    (site / "sitecustomize.py").write_text(
        "import site\nfolders = site.getsitepackages()\n"
        f"site.getsitepackages = lambda *a: [*folders, {str(site)!r}]\n"
    )
    env = {"PYTHONPATH": str(site)}
    listed = nanocoder("plugins", "restore", env=env)
    assert "acme-broken, which needs no restoring once it works: import failed" in listed.stdout
    named = nanocoder("plugins", "restore", "acme-broken", env=env)
    assert named.returncode == 2
    assert "'acme-broken' is disabled at each start, until it works: import failed" in named.stderr


def test_the_end_of_a_session_keeps_who_failed_and_never_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    failed = {"acme-a": "late\nagain", "command-quarantine": "x"}
    assert nanocoder_event.nanocoder_impl["events"] == {"session.finished"}
    nanocoder_event(Event("session.finished", {}))
    assert read(tmp_path / "nanocoder") == {}
    nanocoder_event(Event("session.finished", {"failed_plugins": failed}))
    [(name, why)] = read(tmp_path / "nanocoder").items()
    assert (name, "\n" in why) == ("acme-a", False)
    (tmp_path / "nanocoder/quarantine.json").write_text("[")
    assert read(tmp_path / "nanocoder") == {}


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, '{"a":' + "9" * 6_000 + "}"])
def test_a_list_with_absurd_content_stops_no_command(nanocoder, content):
    state = nanocoder.home / ".local/state/nanocoder"
    state.mkdir(parents=True)
    (state / "quarantine.json").write_text(content)
    for words in (["tools"], ["plugins", "restore"]):
        done = nanocoder(*words)
        assert (done.returncode, done.stderr) == (0, ""), words


@pytest.mark.parametrize("broken", [["p0"], ["p41"], ["p17"], ["p3", "p40"]])
def test_what_breaks_is_found_by_halves(broken):
    tries = []

    def works(left_out):
        tries.append(left_out)
        return set(broken) <= set(left_out)

    plugins = [f"p{number}" for number in range(42)]
    assert sorted(find_culprits(plugins, works)) == sorted(broken)
    assert len(tries) <= 8 * len(broken) + 1


def test_a_plugin_that_the_command_needs_is_no_culprit():
    plugins = [f"p{number}" for number in range(42)]

    def works(left_out):
        return "p17" in left_out and not {"p2", "p30"} & set(left_out)

    group = working_group(plugins, works)
    assert find_culprits(group, works) == ["p17"]
    assert working_group(plugins, lambda _: False) == ()


def test_a_command_that_works_has_no_culprit_and_itself_is_refused(nanocoder):
    done = nanocoder("plugins", "bisect", "--", "config", "path")
    assert done.returncode == 0, done
    assert "works: no plugin breaks it" in done.stdout
    assert nanocoder("plugins", "bisect", "plugins", "bisect").returncode == 2


def test_what_the_command_says_itself_comes_first(nanocoder):
    # Each plugin that takes part costs two starts.
    listed = json.loads(nanocoder("plugins", "list", "--output", "json").stdout)
    hooks = {plugin["name"]: plugin["hooks"] for plugin in listed}
    rest = [name for name in hooks if not {f"nanocoder_{gate}" for gate in GATES} & {*hooks[name]}]
    rest = sorted({*rest} - {"command-quarantine", "store-files", "tool-glob", "tool-list"})
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[plugins]\ndisable = {json.dumps(rest)}\n")
    done = nanocoder("plugins", "bisect", "call", "no_such_tool", "{}")
    assert done.returncode == 1
    assert "`nanocoder call no_such_tool '{}'` fails: Unknown tool: no_such_tool" in done.stderr
    assert "trying it without some of 3 plugins" in done.stderr
    assert "fails without each of the plugins, too" in done.stdout
