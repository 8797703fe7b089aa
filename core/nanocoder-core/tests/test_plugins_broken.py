"""Plugins that break, installed as pip would: disabled by name, and the program works."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nanocoder import PluginError, Plugins, open_session
from nanocoder_discovery.manifest import read_cache
from nanocoder_testing import Scripted, play

GOOD = """
from nanocoder import hookimpl, tool

@tool(risk="safe", effects={"read"})
def fine() -> str:
    '''Say that all is well, for tests.'''
    return "well"

@hookimpl
def nanocoder_tools():
    return [fine]
"""

Install = Callable[..., Plugins]


class Site:
    """A directory of installed packages, which this interpreter and its children import from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0

    def install(self, name: str, source: str, *, distribution: str = "", module: str = "") -> None:
        """Install a plugin: a module and the dist-info that names it."""
        distribution = distribution or f"nanocoder-{name}"
        module = module or f"{distribution.replace('-', '_')}_{self.folder.parent.name}"
        module = "".join(letter if letter.isalnum() else "_" for letter in module)
        (self.folder / f"{module}.py").write_text(source, encoding="utf-8")
        info = self.folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(f"[nanocoder]\n{name} = {module}\n")

    def plugins(self, cache: Path | None = None, **options: float) -> Plugins:
        """Return what is installed here, and nothing else."""
        return Plugins.installed(cache, sites=[str(self.folder)], **options)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    made = Site(folder)
    made.install("tool-fine", GOOD)
    yield made
    # Only the plugins of this test: other modules are the same for the whole process.
    for name, module in tuple(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


def hook(body: str, name: str = "nanocoder_tools", arguments: str = "", *, head: str = "") -> str:
    return (
        "import nanocoder\nfrom nanocoder import hookimpl, tool, ToolError, Verdict, Decision\n"
        f"{head}\n@hookimpl\ndef {name}({arguments}):\n    {body}\n"
    )


BROKEN = {
    "raises on import": ("raise RuntimeError('boom')", "import failed: RuntimeError: boom"),
    "leaves on import": ("import sys; sys.exit(3)", "import failed: SystemExit: 3"),
    "kills its process": ("import os; os._exit(0)", "the import ended the process"),
    "needs what is not there": ("import no_such_module_here", "No module named"),
    "does not parse": ("def broken(:", "SyntaxError"),
    "no hook": ("x = 1", "implements no hook"),
    "a hook that is async": (
        "from nanocoder import hookimpl\n@hookimpl\nasync def nanocoder_tools():\n    return []\n",
        "`async def`; hooks are plain functions",
    ),
    "a misspelt hook": (
        hook("return []", "nanocoder_tool"),
        "there is no hook 'nanocoder_tool'; did you mean 'nanocoder_tools'?",
    ),
    "an unknown argument": (hook("return ''", "nanocoder_prompt", "sesion"), "sesion"),
    "tools that are no tools": (hook("return ['fine']"), "offered str 'fine', expected Tool"),
    "tools that are no list": (hook("yield None"), "returned generator, expected a list of Tool"),
    "a hook that raises": (hook("raise ValueError('ouch')"), "ValueError: ouch"),
    "settings that are no class": (
        hook("return {}", "nanocoder_settings"),
        "returned {}, expected an attrs class",
    ),
    "settings without a default": (
        hook(
            "return Settings",
            "nanocoder_settings",
            head="import attrs\n@attrs.frozen\nclass Settings:\n    key: str\n",
        ),
        "every field of Settings needs a default",
    ),
    "an effect that does not exist": (
        GOOD.replace('"read"', '"raed"'),
        "'raed' is not a valid Effect",
    ),
    "a risk that does not exist": (GOOD.replace('"safe"', '"none"'), "'none' is not a valid Risk"),
    "a tool with an impossible type": (
        hook(
            "return [odd]",
            head="@tool\ndef odd(x: complex) -> str:\n    '''Do something odd with x.'''\n",
        ),
        "odd",
    ),
}


@pytest.mark.rows(6)
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_plugin_is_set_aside_by_name_and_the_others_work(site: Site, what: str) -> None:
    source, problem = BROKEN[what]
    site.install("tool-broken", source)
    plugins = site.plugins()
    if what != "a tool with an impossible type":
        assert problem in plugins.set_aside["tool-broken"]
    tools = plugins.tools()
    assert tools["fine"].real()() == "well"


PLACES = {
    "a name that is not there": ("\n\nundefined_name\n", "NameError: name 'undefined_name'", 3),
    "a fault below": ("import json\njson.loads('{')\n", "JSONDecodeError", 2),
    "a hook": (hook("return 1 / 0"), "ZeroDivisionError", 6),
}


@pytest.mark.parametrize("what", PLACES)
def test_the_file_and_the_line_of_a_fault_are_named(site: Site, what: str) -> None:
    source, problem, line = PLACES[what]
    site.install("tool-broken", source, module="acme_broken")
    reason = site.plugins().set_aside["tool-broken"]
    assert problem in reason
    assert reason.endswith(f" (site/acme_broken.py:{line})")


def test_an_error_with_a_text_without_end_is_cut(site: Site, tmp_path: Path) -> None:
    site.install("tool-broken", "raise ValueError('x' * 5_000_000)", module="acme_broken")
    cache = tmp_path / "plugins.json"
    reason = site.plugins(cache).set_aside["tool-broken"]
    assert "import failed: ValueError: xxx" in reason
    assert reason.endswith(" (site/acme_broken.py:1)")
    assert len(reason) < 3_000
    assert cache.stat().st_size < 100_000


# PLUG-022
@pytest.mark.timeout(60)
def test_a_plugin_that_hangs_on_import_is_set_aside_at_the_deadline(site: Site) -> None:
    site.install("tool-a-hang", "import time; time.sleep(60)")
    plugins = site.plugins(deadline_s=4)
    assert "its import took over 4 s" in plugins.set_aside["tool-a-hang"]
    assert set(plugins.tools()) == {"fine"}


def test_what_a_plugin_prints_at_import_disturbs_nobody(site: Site, capfd) -> None:
    site.install("tool-loud", "print('[\"tool-fine\", {}]')\n" + GOOD.replace("fine", "loud"))
    assert set(site.plugins().tools()) == {"fine", "loud"}
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("gate", ["nanocoder_before_execute", "nanocoder_after_execute"])
@pytest.mark.parametrize("kind", ["wrapper", "hookwrapper"])
def test_nobody_wraps_a_judge_or_a_chain(site: Site, gate: str, kind: str) -> None:
    site.install(
        "policy-sly",
        f"from nanocoder import hookimpl\n@hookimpl({kind}=True)\n"
        f"def {gate}(call):\n    yield\n    return None\n",
    )
    plugins = site.plugins()
    assert "may not be wrapped" in plugins.set_aside["policy-sly"]
    with pytest.raises(PluginError, match="nanocoder does not start without this policy"):
        plugins.require_policies()


@pytest.mark.parametrize(
    "source",
    [
        "raise RuntimeError('boom')",
        "import os; os._exit(1)",
        "async def nanocoder_before_execute(call): ...\nraise RuntimeError('boom')",
    ],
)
def test_a_policy_that_breaks_stops_the_start_and_says_how_to_go_on(
    site: Site, source: str, tmp_path: Path
) -> None:
    site.install("policy-strict", source)
    with pytest.raises(PluginError, match=r"policy-strict.*plugins\.disable"):
        open_session(tmp_path, plugins=site.plugins(), persist=False)


def test_a_gate_under_another_name_still_stops_the_start(site: Site, tmp_path: Path) -> None:
    source = "def nanocoder_before_execute(call): ...\nraise RuntimeError('boom')"
    site.install("acme-guard", source)
    with pytest.raises(PluginError, match="acme-guard"):
        open_session(tmp_path, plugins=site.plugins(), persist=False)


def test_a_policy_that_is_disabled_does_not_stop_the_start(site: Site, tmp_path: Path) -> None:
    site.install("policy-strict", "raise RuntimeError('boom')")
    plugins = site.plugins()
    plugins.configure(lambda _, cls: cls(), disabled=["policy-strict"])
    plugins.add(Scripted(["Hello."]), "script")
    with open_session(tmp_path, plugins=plugins, model="script", persist=False) as session:
        list(session.run("go"))
        assert session.report.text == "Hello."


def test_a_syntax_error_names_the_whole_path(site: Site) -> None:
    site.install("tool-odd", "x = 1\ndef broken(:\n")
    reason = site.plugins().set_aside["tool-odd"]
    (path,) = site.folder.glob("nanocoder_tool_odd*.py")
    assert f"({path}, line 2)" in reason


def test_a_plugin_that_comes_later_takes_no_tool_away(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "plugins.json"
    site.plugins(cache)
    site.install("tool-a-other", GOOD.replace("well", "otherwise"))
    plugins = site.plugins(cache)
    assert plugins.tools()["fine"].plugin == "tool-fine"
    assert "tool-a-other and tool-fine; tool-fine came first" in str(plugins.reports[0])
    # An upgrade of the first one changes nothing.
    os.utime(next(site.folder.glob("nanocoder_tool_fine-*.dist-info")))
    assert site.plugins(cache).tools()["fine"].plugin == "tool-fine"


def test_the_configuration_says_which_of_two_plugins_has_a_tool(site: Site) -> None:
    site.install("tool-other", GOOD.replace("well", "otherwise"))
    plugins = site.plugins()
    plugins.configure(lambda _, cls: cls(), owners={"fine": "tool-other"})
    assert plugins.tools()["fine"].real()() == "otherwise"
    assert plugins.tools()["fine"].plugin == "tool-other"


def test_an_owner_that_offers_no_such_tool_gives_it_to_nobody(site: Site) -> None:
    plugins = site.plugins()
    plugins.configure(lambda _, cls: cls(), owners={"fine": "tool-gone"})
    assert plugins.tools() == {}


def test_a_tool_can_be_renamed_away_from_a_clash(site: Site) -> None:
    site.install("tool-other", GOOD.replace("well", "otherwise"))
    plugins = site.plugins()
    plugins.configure(lambda _, cls: cls(), names={"tool-other:fine": "finer"})
    said = {name: tool.real()() for name, tool in plugins.tools().items()}
    assert said == {"fine": "well", "finer": "otherwise"}


@pytest.mark.parametrize(
    ("hook_name", "offer"),
    [
        ("nanocoder_providers", "ProviderSpec('twin', lambda m, s: None)"),
        ("nanocoder_commands", "Command('twin', 'Do it.', lambda w, h: 0)"),
        ("nanocoder_screens", "Screen('twin', lambda i, s: None)"),
    ],
)
def test_two_offers_of_one_name_are_refused_naming_both(
    site: Site, hook_name: str, offer: str
) -> None:
    head = "from nanocoder import Command, ProviderSpec, Screen"
    for name in ("ui-a", "ui-b"):
        site.install(name, hook(f"return [{offer}]", hook_name, head=head))
    plugins = site.plugins()
    with pytest.raises(PluginError, match="'twin' is offered by ui-a and ui-b"):
        plugins.offered(hook_name.removeprefix("nanocoder_"), "twin")
    plugins.configure(lambda _, cls: cls(), disabled=["ui-a"])
    found = plugins.offered(hook_name.removeprefix("nanocoder_"), "twin")
    assert found is not None
    assert found[0] == "ui-b"


def test_two_distributions_with_one_plugin_name_are_both_set_aside(site: Site) -> None:
    site.install("tool-fine", GOOD.replace("fine", "other"), distribution="evil-twin")
    plugins = site.plugins()
    assert "evil-twin 1.0 and nanocoder-tool-fine 1.0" in plugins.set_aside["tool-fine"]
    assert plugins.tools() == {}


def test_a_second_start_imports_no_tool_plugin(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "plugins.json"
    site.install("tool-broken", "raise RuntimeError('boom')")
    first = site.plugins(cache)
    modules = {name for name in sys.modules if name.endswith(tmp_path.name.replace("-", "_"))}
    again = site.plugins(cache)
    assert set(again.tools()) == set(first.tools()) == {"fine"}
    assert again.set_aside == first.set_aside
    assert modules == set()


LATER = "import os\nif 'BOOM' in os.environ: raise RuntimeError('later')\n"


def test_a_tool_whose_plugin_breaks_after_it_was_described_fails_alone(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install("tool-later", LATER + GOOD.replace("fine", "later"))
    plugins = site.plugins()
    assert set(plugins.tools()) == {"fine", "later"}
    monkeypatch.setenv("BOOM", "1")
    turns = [[("later", {})], [("fine", {})], "Done."]
    played = play(tmp_path, turns, plugins=plugins)
    assert [one.error_class for one in played.results] == ["plugin", ""]
    assert "'tool-later'" in played.results[0].output
    assert "later" not in plugins.tools()


def test_a_listener_whose_plugin_breaks_after_it_was_described_is_set_aside(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install("ui-later", LATER + hook("pass", "nanocoder_event", "event"))
    plugins = site.plugins()
    monkeypatch.setenv("BOOM", "1")
    played = play(tmp_path, ["Hello."], plugins=plugins)
    assert played.text == "Hello."
    assert "RuntimeError: later" in plugins.set_aside["ui-later"]
    [report] = map(str, plugins.reports)
    assert report.startswith("plugin 'ui-later': import failed: RuntimeError: later")
    assert report.endswith("fix it, uninstall it, or list it in plugins.disable")
    [failed] = [event.data for event in played.events if event.kind == "plugin.failed"]
    assert failed == {"plugin": "ui-later", "message": report}


@pytest.mark.parametrize("name", ["nanocoder_prompt", "nanocoder_understand"])
def test_an_interrupt_that_a_plugin_raises_itself_names_the_plugin(
    site: Site, tmp_path: Path, name: str
) -> None:
    site.install("acme-stops", hook("raise KeyboardInterrupt", name, ""))
    plugins = site.plugins()
    if name == "nanocoder_prompt":  # its thread gets no Ctrl-C of a person
        assert play(tmp_path, ["Hello."], plugins=plugins).text == "Hello."
        assert "'acme-stops': nanocoder_prompt failed: KeyboardInterrupt" in str(plugins.reports)
        return
    with pytest.raises(KeyboardInterrupt, match="in nanocoder_understand of plugin 'acme-stops'"):
        play(tmp_path, [[("fine", {})], "Done."], plugins=plugins)


def test_a_policy_that_breaks_after_it_was_described_stops_the_start(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install("acme-guard", LATER + hook("pass", "nanocoder_before_execute", "call"))
    plugins = site.plugins()
    monkeypatch.setenv("BOOM", "1")
    with pytest.raises(PluginError, match=r"acme-guard.*RuntimeError: later"):
        open_session(tmp_path, plugins=plugins, persist=False)


def test_a_plugin_that_offers_something_else_than_described_says_so(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install(
        "tool-fickle",
        GOOD.replace("fine", "fickle").replace(
            "return [fickle]", "import os; return [] if 'BOOM' in os.environ else [fickle]"
        ),
    )
    plugins = site.plugins()
    monkeypatch.setenv("BOOM", "1")
    played = play(tmp_path, [[("fickle", {})], "Done."], plugins=plugins)
    assert "no longer offers 'fickle'" in played.results[0].output


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"plugins": 3}', b"[" * 99_999])
def test_a_damaged_cache_is_made_anew(site: Site, tmp_path: Path, damage: bytes) -> None:
    cache = tmp_path / "plugins.json"
    site.plugins(cache)
    cache.write_bytes(damage)
    assert set(site.plugins(cache).tools()) == {"fine"}
    assert cache.read_bytes() != damage


DENIES = hook("return Verdict(Decision.DENY, 'no')", "nanocoder_before_execute", "call")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"nanocoder_before_execute", b"nanocoder_before_executd"),
        (b'"always_listed"', b'"always_listee"'),
        (b'"policy": true', b'"policy": null'),
        (b'"risk": "safe"', b'"risk": "sbfe"'),
    ],
)
def test_one_wrong_bit_in_the_cache_opens_nothing(
    site: Site, tmp_path: Path, before: bytes, after: bytes
) -> None:
    cache = tmp_path / "plugins.json"
    site.install("acme-guard", DENIES)
    site.plugins(cache)
    whole = cache.read_bytes()
    assert before in whole
    cache.write_bytes(whole.replace(before, after, 1))
    plugins = site.plugins(cache)
    assert cache.read_bytes() == whole
    played = play(tmp_path, [[("fine", {})], "Done."], plugins=plugins)
    assert [one.error_class for one in played.results] == ["denied"]
    assert plugins.reports == []


def test_every_byte_of_the_cache_counts(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "plugins.json"
    site.plugins(cache)
    whole = cache.read_bytes()
    key = json.loads(cache.read_bytes().partition(b"\n")[2])["key"]
    assert set(read_cache(cache, key)["plugins"]) == {"tool-fine"}
    for place in range(len(whole)):
        cache.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert read_cache(cache, key) == {}, place


@pytest.mark.parametrize("described", ["nanocoder_event", "nanocoder_before_execute"])
def test_a_plugin_that_judges_by_other_hooks_than_were_described_stops_the_start(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, described: str
) -> None:
    (other,) = {"nanocoder_event", "nanocoder_before_execute"} - {described}
    both = hook("pass", described) + hook("pass", other)
    source = both + f"import os\nif 'LATER' in os.environ: del {described}\nelse: del {other}\n"
    site.install("acme-guard", source)
    plugins = site.plugins()
    assert list(plugins.entries["acme-guard"].hooks) == [described]
    monkeypatch.setenv("LATER", "1")
    if described == "nanocoder_event":  # no policy when it was described: it never works as one
        assert play(tmp_path, ["Hello."], plugins=plugins).text == "Hello."
        assert "do not match" in plugins.set_aside["acme-guard"]
        return
    with pytest.raises(PluginError, match=r"nanocoder_before_execute and the plugin manifest"):
        open_session(tmp_path, plugins=plugins, persist=False)


def test_what_killed_writers_left_beside_the_cache_is_removed(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "plugins.json"
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    left = tmp_path / f".plugins.json.{ended.pid}"
    others = tmp_path / ".plugins.json.1", tmp_path / ".plugins.json.mine"
    for path in (left, *others):
        path.write_text("{")
    site.plugins(cache)
    assert not left.exists()
    assert all(path.exists() for path in others)


@pytest.mark.timeout(120)
def test_a_plugin_that_hung_is_not_tried_again_until_it_changes(site: Site, tmp_path: Path) -> None:
    cache, mark = tmp_path / "plugins.json", tmp_path / "mark"
    hangs = f"open({str(mark)!r}, 'a').write('x')\nimport time; time.sleep(60)"
    site.install("tool-hang", hangs, module="nanocoder_hangs")
    site.plugins(cache, deadline_s=4)
    site.install("tool-new", GOOD.replace("fine", "new"))
    plugins = site.plugins(cache, deadline_s=30)
    assert "its import took over 4 s" in plugins.set_aside["tool-hang"]
    assert mark.read_text() == "x"
    (site.folder / "nanocoder_hangs.py").write_text(GOOD.replace("fine", "quick"))
    assert set(site.plugins(cache).tools()) == {"fine", "new", "quick"}


def test_an_edited_module_is_described_anew(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "plugins.json"
    site.plugins(cache)
    (module,) = site.folder.glob("*.py")
    module.write_text(GOOD.replace("fine", "finer"))
    plugins = site.plugins(cache)
    assert set(plugins.tools()) == {"finer"}
    assert plugins.fresh == ("tool-fine",)


def test_a_cache_that_cannot_be_written_is_done_without(site: Site) -> None:
    assert set(site.plugins(Path("/dev/null/plugins.json")).tools()) == {"fine"}


WRAPS = """
import attrs
@hookimpl
def nanocoder_tools(
    settings, tools
):
    return [attrs.evolve(tools["fine"], risk="dangerous", load=None)]
"""


@pytest.mark.parametrize("fault", [LATER, "raise RuntimeError('later')\n"])
def test_tools_are_not_offered_without_a_plugin_that_wraps_them(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    site.install("tool-caged", fault + "from nanocoder import hookimpl\n" + WRAPS)
    plugins = site.plugins()
    monkeypatch.setenv("BOOM", "1")
    why = r"'tool-caged'.*RuntimeError: later.*wraps tools.*plugins\.disable"
    for _ in range(2):
        with pytest.raises(PluginError, match=why):
            plugins.tools()
    with pytest.raises(PluginError, match=why):
        play(tmp_path, [[("fine", {})], "Done."], plugins=plugins)


@pytest.mark.parametrize("options", [{"wrapping": ()}, {"disabled": ["tool-caged"]}])
def test_a_broken_wrapper_that_is_not_configured_takes_no_tool_away(
    site: Site, options: dict[str, Any]
) -> None:
    site.install("tool-caged", "raise RuntimeError('later')\n" + WRAPS)
    plugins = site.plugins()
    plugins.configure(lambda _, cls: cls(), **options)
    assert set(plugins.tools()) == {"fine"}


def test_tools_stay_wrapped_when_their_wrapper_fails_in_other_hooks(site: Site) -> None:
    site.install("tool-caged", "from nanocoder import hookimpl\n" + WRAPS)
    plugins = site.plugins()
    for number in range(9):
        plugins.report(PluginError("tool-caged", f"failed {number}"))
    assert plugins.tools()["fine"].risk == "dangerous"
