"""While the model answers for the first time, a thread imports what the first calls will need."""

import importlib
import subprocess
import sys
import threading
import time

import pytest
from nanocoder import Plugins
from nanocoder.plugins.introspect import describe
from nanocoder_discovery import Entry
from nanocoder_testing import Scripted, opened

WAIT_S = 30
CHECK = "nanocoder_schema.check"
SOURCE = '''
from nanocoder import hookimpl, tool
{more}

@tool(risk="safe", effects={{"read"}}, always_listed={listed})
def {name}() -> str:
    """Say that all is well, for tests."""
    return "well"

@hookimpl
def nanocoder_tools():
    return [{name}]
'''


class Slow(Scripted):
    """A model that answers when the imports are through, or at once."""

    def __init__(self, turns, *, at_once=False):
        super().__init__(turns)
        self.at_once = at_once
        self.loaded = None

    def stream(self, request, cancel):
        deadline = time.monotonic() + WAIT_S
        while importing() and not self.at_once and time.monotonic() < deadline:
            time.sleep(0.005)
        if self.loaded is None:
            self.loaded = set(sys.modules)
        yield from super().stream(request, cancel)


def importing():
    return [one for one in threading.enumerate() if one.name == "nanocoder-imports"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that makes plugins, known from their descriptions alone."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def install(**sources):
        entries = {}
        for name, more in sources.items():
            module, listed = f"ahead_{name}", name != "seldom"
            (tmp_path / f"{module}.py").write_text(SOURCE.format(name=name, more="", listed=listed))
            importlib.invalidate_caches()
            described = describe(importlib.import_module(module), name)
            del sys.modules[module]
            (tmp_path / f"{module}.py").write_text(
                SOURCE.format(name=name, more=more, listed=listed)
            )
            importlib.invalidate_caches()
            names.append(module)
            entries[name] = Entry(name, module, f"acme-{name}", "1", description=described)
        return Plugins(entries)

    yield install
    for module in names:
        sys.modules.pop(module, None)


@pytest.fixture
def home(tmp_path):
    """Return options of a session with a home of its own."""
    return {"environment": {"HOME": str(tmp_path / "home")}}


def test_the_everyday_tools_are_there_when_the_first_call_begins(installed, home, tmp_path):
    plugins = installed(usual="", seldom="", away="")
    plugins.disable("away", "its lock does not fit")
    sys.modules.pop(CHECK, None)
    model = Slow([[("usual", {})], "done"])
    with opened(tmp_path, plugins=plugins, model=model, **home) as (session, _):
        assert "ahead_usual" not in sys.modules
        events = list(session.run("go"))
    assert model.loaded >= {"ahead_usual", CHECK}
    assert not model.loaded & {"ahead_seldom", "ahead_away"}
    (returned,) = [one.data for one in events if one.kind == "call.returned"]
    assert returned["output"] == "well"


JUDGE = """
from nanocoder import hookimpl

@hookimpl
def nanocoder_before_execute(call):
    from ahead_policy.late import OPINION
    return OPINION
"""


def test_what_a_policy_imports_at_its_first_call_is_there(installed, home, tmp_path):
    package = tmp_path / "ahead_policy"
    package.mkdir()
    (package / "__init__.py").write_text(JUDGE)
    (package / "late.py").write_text("OPINION = None\n")
    plugins = installed(usual="")
    described = describe(importlib.import_module("ahead_policy"), "policy")
    plugins.entries["policy"] = Entry("policy", "ahead_policy", "p", "1", description=described)
    model = Slow(["done"])
    with opened(tmp_path, plugins=plugins, model=model, **home) as (session, _):
        assert "ahead_policy.late" not in sys.modules
        list(session.run("go"))
    assert model.loaded >= {"ahead_policy.late", "nanocoder_files.workspace"}
    del sys.modules["ahead_policy"], sys.modules["ahead_policy.late"]


def test_a_reply_that_comes_at_once_and_a_call_without_a_model_import_nothing_more(
    installed, home, tmp_path
):
    model = Slow(["hello"], at_once=True)
    plugins = installed(usual="", seldom="")
    with opened(tmp_path, plugins=plugins, model=model, **home) as (session, _):
        list(session.run("go"))
        list(session.call("seldom", {}))
        for thread in importing():
            thread.join()
    assert "ahead_usual" not in sys.modules


@pytest.mark.parametrize("more", ["1 / 0", "raise SystemExit(3)"])
def test_an_import_that_fails_is_told_at_the_first_call(installed, home, tmp_path, more):
    plugins = installed(broken=more, usual="")
    model = Slow([[("usual", {})], [("broken", {})], "done"])
    with opened(tmp_path, plugins=plugins, model=model, **home) as (session, _):
        results = []
        for event in session.run("go"):
            if event.kind == "call.returned":
                results.append(event.data["output"])
            if event.kind == "call.started" and not results:
                assert plugins.set_aside == {}
    assert results[0] == "well"
    assert "import failed" in results[1]
    assert list(plugins.set_aside) == ["broken"]


def test_there_is_no_thread_where_all_is_there(home, tmp_path):
    plugins = Plugins()
    with opened(tmp_path, plugins=plugins, model=Slow(["hi"]), **home) as (session, model):
        list(session.run("go"))
        assert model.loaded is not None
        assert not importing()


HANGS = """
import sys, threading
from nanocoder.cancel import preload
with preload(["ahead_hangs"]):
    while "ahead_hangs" not in sys.modules:
        pass
print("the end", flush=True)
"""


def test_an_import_that_hangs_keeps_nobody_from_ending(tmp_path):
    (tmp_path / "ahead_hangs.py").write_text("import time\ntime.sleep(600)\n")
    done = subprocess.run(
        [sys.executable, "-c", HANGS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr
