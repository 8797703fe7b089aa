"""Instruction files below the workspace: the model gets them with the first file there."""

import nanocoder_context_files as plugin
import pytest
from nanocoder import Finished, ToolCall, ToolError, hookimpl, tool
from nanocoder_testing import Scripted, opened
from nanocoder_testing.playing import called


@tool(risk="safe", effects={"read"})
def read_file(ctx, path: str) -> str:
    """Read a file."""
    if not ctx.workspace.is_file(path) and path != "app":
        raise ToolError("no such file", error_class="file_not_found")
    return f"read {path}"


class Files:
    @hookimpl
    def nanocoder_tools(self):
        return [read_file]


PLUGINS = {"context-files": plugin, "files": Files()}


@pytest.fixture
def workspace(tmp_path):
    for folder, text in (("", "ROOT"), ("app", "APP"), ("app/web", "WEB"), ("lib", "LIB")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "AGENTS.md").write_text(text)
        (tmp_path / folder / "a.py").write_text("x = 1\n")
    return tmp_path


def read(session, path):
    return called(session, "read_file", {"path": path})[0].output


def test_files_on_the_way_come_with_the_first_read_and_once(workspace):
    with opened(workspace, plugins=PLUGINS) as (session, _):
        first = read(session, "app/web/a.py")
        assert first.startswith("read app/web/a.py\n\n[app/AGENTS.md counts for app/. Its authors")
        assert first.index("APP") < first.index("WEB")
        assert "ROOT" not in first, "it is in the prompt"
        assert "LIB" not in first
        assert read(session, "app/a.py") == "read app/a.py"
        assert "LIB" in read(session, f"{workspace}/lib/a.py")


def test_a_folder_itself_counts(workspace):
    with opened(workspace, plugins=PLUGINS) as (session, _):
        assert "APP" in read(session, "app")


def test_a_call_that_failed_brings_nothing_and_the_next_one_does(workspace):
    with opened(workspace, plugins=PLUGINS) as (session, _):
        assert "APP" not in read(session, "app/none.py")
        assert "APP" in read(session, "app/a.py")


def test_nothing_from_outside_comes_in(workspace, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "AGENTS.md").write_text("OUTSIDE")
    (workspace / "lib/AGENTS.md").unlink()
    (workspace / "lib/AGENTS.md").symlink_to(outside / "AGENTS.md")
    with opened(workspace, plugins=PLUGINS) as (session, _):
        assert read(session, "lib/a.py") == "read lib/a.py"


def test_a_long_one_is_cut(workspace):
    (workspace / "lib/AGENTS.md").write_text("word " * 9_000)
    with opened(workspace, plugins=PLUGINS) as (session, _):
        output = read(session, "lib/a.py")
    assert "characters left out" in output
    assert len(output) < 6_000


def test_the_prompt_stays_as_it_was(workspace):
    class Model(Scripted):
        def stream(self, request, cancel):
            self.requests.append(request)
            is_first = len(self.requests) == 1
            calls = (ToolCall("c", "read_file", {"path": "app/a.py"}),) if is_first else ()
            yield Finished("" if is_first else "Done.", calls)

    model = Model([])
    with opened(workspace, plugins=PLUGINS, model=model) as (session, _):
        list(session.run("go"))
        (result,) = session.messages[2].results
    first, second = model.requests
    assert first.system is second.system
    assert "APP" in result.output
