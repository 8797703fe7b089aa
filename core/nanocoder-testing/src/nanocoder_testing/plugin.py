"""The pytest plugin, loaded in every environment that has the core and pytest.

Everything of nanocoder is imported inside functions, so that other tests do not wait for it.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nanocoder import ToolContext
    from nanocoder_files import Workspace

    from nanocoder_testing.playing import Played
    from nanocoder_testing.subject import Subject

CONTRACT = "nanocoder_testing.contract"
# pytest rewrites asserts only in modules registered before their import.
pytest.register_assert_rewrite("nanocoder_testing.provider_contract")
OPTION = "--nanocoder-plugin"
USUAL_CALLS = 25
"""The number of calls that the contract suite generates for each tool."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the plugin under test."""
    group = parser.getgroup("nanocoder")
    group.addoption(
        OPTION, default="", metavar="NAME", help="run the contract suite on this plugin"
    )
    group.addoption(
        "--nanocoder-calls",
        type=int,
        default=USUAL_CALLS,
        metavar="N",
        help=f"how many calls the contract suite makes up for each tool ({USUAL_CALLS})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of the contract suite."""
    config.addinivalue_line("markers", "contract(row): the contract row that this test meets")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize each test of the contract suite by the plugins under test and their parts."""
    if not metafunc.function.__module__.startswith(CONTRACT):
        return
    plugins = _subjects(metafunc.config, str(metafunc.definition.path))
    what = getattr(metafunc.function, "contract_part", "")
    if what:
        pairs = [(subject, name) for subject in plugins for name in subject.offers(what)]
        ids = [f"{subject.name}-{name}" for subject, name in pairs]
        metafunc.parametrize(("subject", "part"), pairs, ids=ids)
    else:
        metafunc.parametrize("subject", plugins, ids=[subject.name for subject in plugins])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drop contract tests of parts that a plugin does not have.

    They are not reported as deselected, which would make people wonder.
    """
    items[:] = filter(_applies, items)


def _subjects(config: pytest.Config, start: str) -> "tuple[Subject, ...]":
    from nanocoder_testing.subject import subjects

    try:
        return subjects(start, config.getoption(OPTION))
    except LookupError as error:
        raise pytest.UsageError(str(error)) from error


def _applies(item: pytest.Item) -> bool:
    function = getattr(item, "function", None)
    if not getattr(function, "__module__", "").startswith(CONTRACT):
        return True
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if "subject" not in parameters or parameters["subject"].__class__.__name__ != "Subject":
        return False  # pytest's own placeholder for a plugin without such parts
    needs: Callable[[Any, Any], bool] | None = getattr(function, "contract_needs", None)
    return needs is None or needs(parameters["subject"], item)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home directory, set in the environment; no key and no model is set."""
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("XDG_", "NANOCODER_")) or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> "Iterator[Workspace]":
    """Return an empty workspace; its `root` is the folder."""
    from nanocoder_files import Workspace

    folder = tmp_path / "workspace"
    folder.mkdir()
    with Workspace(folder.resolve()) as workspace:
        yield workspace


@pytest.fixture
def ctx(tmp_path: Path, workspace: "Workspace") -> "ToolContext":
    """Return a context for `tool.invoke(ctx, arguments)`, as a session gives it to a handler."""
    from nanocoder import SessionInfo, ToolContext

    def make_tmp() -> Path:
        folder = tmp_path / "call"
        folder.mkdir(exist_ok=True)
        return folder

    def artifact(name: str, data: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return ToolContext(
        session_id="session",
        message_id="call-1",
        workspace=workspace,
        working_directory=workspace.root,
        session=SessionInfo("session", workspace.root),
        make_tmp=make_tmp,
        artifact=artifact,
    )


@pytest.fixture
def open_at() -> "Iterator[Callable[..., Any]]":
    """Return `nanocoder_testing.asking.opener`, which closes at the end of the test."""
    from nanocoder_testing.asking import opener

    with ExitStack() as stack:
        yield partial(opener, stack)


@pytest.fixture
def run_session(workspace: "Workspace") -> "Callable[..., Played]":
    """Return `nanocoder_testing.play` for the workspace: `run_session(turns, plugins=…)`."""
    from nanocoder_testing.playing import play

    return partial(play, workspace.root)
