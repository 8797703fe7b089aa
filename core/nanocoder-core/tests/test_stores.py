"""Where sessions are kept is a plugin: the one that is configured, or none."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from nanocoder import (
    ConfigError,
    Host,
    PluginError,
    Plugins,
    Store,
    StoredSession,
    UsageError,
    hookimpl,
    open_session,
)
from nanocoder.config import Config
from nanocoder.plugins.packages import package_with
from nanocoder_kit_sessions import MemoryJournal, SessionStore, session_store
from nanocoder_testing import Scripted


class Archive:
    """A store of a company, which is no library's."""

    def __init__(self):
        self.journals = {}

    def start(self, cwd, model, mode, *, origin=None, parent=None):
        journal = MemoryJournal(f"archived-{len(self.journals)}")
        journal.append("session.started", {"cwd": str(cwd), "model": model})
        return self.journals.setdefault(journal.id, journal)

    def find(self, name, *, cwd=None):
        if name != "last" and name not in self.journals:
            raise UsageError(f"the archive has no {name!r}")
        return name if name != "last" else next(iter(self.journals))

    def resume(self, name, *, cwd=None):
        journal = self.journals[self.find(name, cwd=cwd)]
        return StoredSession(journal, tuple(journal.messages()), "script", str(cwd))


def offering(*stores):
    """Return plugins with a model and with these stores."""
    plugins = Plugins()
    plugins.add(Scripted(["ONE", "TWO", "THREE"]), "script")
    plugins.add(SimpleNamespace(nanocoder_stores=hookimpl(lambda: list(stores))), "stores")
    return plugins


def at(tmp_path, **variables):
    """Return the options of a session in *tmp_path*."""
    environment = {"HOME": str(tmp_path / "home"), **variables}
    return {"environment": environment, "model": "script"}


@pytest.fixture
def bare_host(tmp_path):
    """Return a host without any plugin."""
    host = Host(str(tmp_path))
    host.__dict__["plugins"] = Plugins()
    host.__dict__["config"] = Config.load(tmp_path, environment={"HOME": str(tmp_path / "home")})
    return host


def test_a_store_of_any_kind_keeps_sessions_and_resumes_them(tmp_path):
    archive = Archive()
    plugins = offering(Store("archive", lambda environment, settings, warn: archive))
    options = {**at(tmp_path, NANOCODER_STORE="archive"), "plugins": plugins}
    with open_session(tmp_path, **options) as session:
        assert session.id == "archived-0"
        list(session.run("one"))
    with open_session(tmp_path, resume="last", **options) as again:
        assert [message.text for message in again.messages] == ["one", "ONE"]
        list(again.run("two"))
    kinds = [record.kind for record in archive.journals["archived-0"].records()]
    assert kinds.count("run.finished") == kinds.count("session.finished") == 2
    with pytest.raises(UsageError, match="the archive has no 'other'"):
        open_session(tmp_path, resume="other", **options)


def test_a_command_for_files_says_that_it_cannot_use_another_kind_of_store(bare_host, tmp_path):
    store = Store("files", lambda environment, settings, warn: Archive())
    bare_host.__dict__["plugins"] = offering(store)
    assert bare_host.sessions.start(tmp_path, "m", "ask").id == "archived-0"
    with pytest.raises(UsageError, match=r"the session store 'files'.* cannot do this"):
        session_store(bare_host)


def test_without_a_store_a_session_runs_in_memory_and_says_so_once(tmp_path):
    lines = []
    plugins = Plugins()
    plugins.add(Scripted(["ONE"]), "script")
    work = tmp_path / "work"
    work.mkdir()
    with open_session(work, plugins=plugins, warn=lines.append, **at(tmp_path)) as session:
        list(session.run("one"))
        assert session.journal is None
    (line,) = lines
    assert line.startswith("this session is not kept: there is no session store 'files'")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("options", "variables"),
    [({"resume": "last"}, {}), ({}, {"NANOCODER_STORE": "file"})],
)
def test_a_store_that_somebody_asked_for_has_to_be_there(tmp_path, options, variables):
    plugins = Plugins()
    plugins.add(Scripted(["ONE"]), "script")
    with pytest.raises(UsageError, match=r"session store 'files?'"):
        open_session(tmp_path, plugins=plugins, **options, **at(tmp_path, **variables))


@pytest.mark.parametrize("store", ["files", "memory"])
def test_a_missing_store_names_the_package_that_has_it(bare_host, tmp_path, store):
    environment = {"HOME": str(tmp_path / "home"), "NANOCODER_STORE": store}
    bare_host.__dict__["config"] = Config.load(tmp_path, environment=environment)
    package = package_with("stores", store)
    assert package
    for attempt in (lambda: bare_host.sessions, bare_host.session(resume="last").__enter__):
        with pytest.raises(UsageError, match=f"nanocoder plugins install {package} adds it$"):
            attempt()


def test_a_store_that_does_not_open_ends_the_start_and_names_its_plugin(tmp_path):
    def broken(environment, settings, warn):
        raise RuntimeError("no connection")

    def refused(environment, settings, warn):
        raise ConfigError("set the address of the archive")

    for opens, error in ((broken, PluginError), (refused, ConfigError)):
        plugins = offering(Store("files", opens))
        with pytest.raises(error) as caught:
            open_session(tmp_path, plugins=plugins, **at(tmp_path))
        assert ("no connection" in str(caught.value)) == (error is PluginError)


def test_a_project_cannot_choose_where_sessions_are_kept(tmp_path):
    (tmp_path / ".nanocoder").mkdir()
    (tmp_path / ".nanocoder/config.toml").write_text('store = "memory"\n')
    config = Config.load(tmp_path, environment={"HOME": str(tmp_path / "home")})
    assert config.core.store == "files"
    assert any("never a project's" in notice for notice in config.notices)


def test_a_person_s_store_is_opened_with_their_environment(tmp_path):
    def keep_in(environment, settings, warn):
        return SessionStore(Path(environment["ARCHIVE"]), warn=warn)

    plugins = offering(Store("files", keep_in))
    options = at(tmp_path, ARCHIVE=str(tmp_path / "archive"))
    with open_session(tmp_path, plugins=plugins, **options) as session:
        list(session.run("one"))
    assert (tmp_path / "archive/sessions" / f"{session.id}.jsonl").is_file()
