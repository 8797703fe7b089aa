"""The contract suite finds what is wrong with a plugin, and says what to do about it."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from nanocoder import Cancelled, Finished, Request, TextDelta, ToolCall
from nanocoder_testing import Scripted, stream_problems, tree_digest

pytestmark = pytest.mark.timeout(60)

HEAD = """
from typing import Annotated, Any
import os, time
from attrs import frozen
from nanocoder import (Decision, Effect, Param, ProviderSpec, Screen, Store, ToolContext, ToolError,
    Verdict, hookimpl, tool)
"""
TOOLS = "\n@hookimpl\ndef nanocoder_tools():\n    return [word]\n"
GOOD = (
    HEAD
    + '''
@tool(risk="safe", effects={Effect.READ}, examples=[{"path": "hello.py"}])
def word(ctx: ToolContext, path: Annotated[str, "File to count in."]) -> str:
    """Count the words of a file. Use it before reading a long one."""
    return str(len(ctx.workspace.read_text(path).split()))
'''
    + TOOLS
)
BODY = "return str(len(ctx.workspace.read_text(path).split()))"


README = "# nanocoder-tool-word\n\nword"


def project(folder: Path, source: str, readme: str = README) -> Path:
    """Make a project with one module; returns its test of the contract."""
    module = f"nanocoder_tool_word_{abs(hash(str(folder))) % 10**8}"
    files = {
        f"src/{module}.py": source,
        "README.md": readme,
        "pyproject.toml": '[project]\nname = "nanocoder-tool-word"\nversion = "1"\n'
        f'[project.entry-points.nanocoder]\ntool-word = "{module}"\n',
        "tests/test_contract.py": "from nanocoder_testing.contract import *\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "tests/test_contract.py"


def checked(folder: Path, *arguments: str, sources: Iterable[Path] = ()) -> str:
    """Run pytest with *arguments* on projects below *folder*; returns what it printed."""
    options = ["-q", "-rf", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    options.append(f"--basetemp={folder / 'tmp'}")
    path = os.pathsep.join(map(str, [folder / "src", *sources]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_good_plugin_passes_and_what_it_lacks_is_not_skipped_but_left_out(tmp_path):
    printed = checked(tmp_path, str(project(tmp_path, GOOD)))
    assert "failed" not in printed
    assert "skipped" not in printed
    assert "15 passed in" in printed, "no word of what is about other kinds"


BAD = {
    "an import that raises": (
        "raise RuntimeError('boom')",
        "test_it_loads",
        "tool-word does not load: RuntimeError: boom",
    ),
    "an import that leaves": ("import sys; sys.exit()", "test_it_loads", "does not load"),
    "an async hook": (GOOD.replace("def nano", "async def nano"), "test_it_loads", "`async def`"),
    "a slow import": (
        "import asyncio\n" + GOOD,
        "test_importing_it_loads_nothing_slow",
        "loads asyncio; import it inside the function",
    ),
    "no description": (
        GOOD.replace("Count the words of a file. Use it before reading a long one.", "Word."),
        "test_a_model_understands_the_definition",
        "only repeats the name",
    ),
    "a parameter without one": (
        GOOD.replace('Annotated[str, "File to count in."]', "str"),
        "test_a_model_understands_the_definition",
        "path: no description",
    ),
    "a definition that costs too much": (
        GOOD.replace("Use it", "Use it and think, " * 150),
        "test_the_definition_is_affordable",
        "tokens in each request; shorten it to 350",
    ),
    "no effects": (
        GOOD.replace("effects={Effect.READ}, ", ""),
        "test_what_a_tool_does_is_declared",
        "declare what it does",
    ),
    "a safe tool that executes": (
        GOOD.replace("Effect.READ", "Effect.READ, Effect.EXECUTE"),
        "test_what_a_tool_does_is_declared",
        'what can execute is not "safe"',
    ),
    "no example": (
        GOOD.replace('[{"path": "hello.py"}]', "[]"),
        "test_the_examples_fit_the_schema",
        "word has no example",
    ),
    "an example that does not fit": (
        GOOD.replace('"hello.py"', "3"),
        "test_the_examples_fit_the_schema",
        "BadArguments",
    ),
    "an example that fails": (
        GOOD.replace("hello.py", "gone.py"),
        "test_the_examples_work",
        "contract_workspace of yours",
    ),
    "a safe tool that writes": (
        GOOD.replace(BODY, "ctx.workspace.write_text('x', 'y'); return path"),
        "test_a_safe_tool_leaves_the_workspace_as_it_was",
        'word is "safe" and changed the workspace',
    ),
    "an exception for bad input": (
        GOOD.replace(BODY, "return open(path).read()"),
        "test_bad_arguments_become_results",
        "raise ToolError saying what to do instead",
    ),
    "a file outside": (
        GOOD.replace(BODY, "return open(ctx.working_directory / path).read()"),
        "test_bad_arguments_become_results",
        "it reads outside the workspace; use ctx.workspace",
    ),
    "a crash for one value": (
        GOOD.replace("path: Annotated", "times: Annotated[int, 'How often.'], path: Annotated")
        .replace('"hello.py"}', '"hello.py", "times": 1}')
        .replace(BODY, "return str(1 // times)"),
        "test_arguments_that_were_made_up_become_results",
        "ZeroDivisionError",
    ),
    "a change before the failure": (
        GOOD.replace('"safe", effects={Effect.READ}', '"medium", effects={Effect.WRITE}').replace(
            BODY, "ctx.workspace.write_text('x', 'y'); raise ToolError('no ' + path)"
        ),
        "test_bad_arguments_become_results",
        "it failed (tool_failed) and changed the workspace all the same",
    ),
    "a safe tool that writes with nobody there": (
        GOOD.replace(BODY, "ctx.workspace.write_text('x', 'y'); return path"),
        "test_arguments_that_were_made_up_become_results",
        "it changed the workspace without an approval",
    ),
    "deaf to a cancel": (
        GOOD.replace(BODY, "time.sleep(1.3); return path"),
        "test_a_cancelled_call_ends_at_once",
        "look at ctx.cancelled while you wait",
    ),
    "an undocumented setting": (
        GOOD + "\n@frozen\nclass Settings:\n    '''Nothing.'''\n    colour: str = ''\n"
        "@hookimpl\ndef nanocoder_settings():\n    return Settings\n",
        "test_every_setting_has_a_default_and_is_explained",
        "Settings.colour: say what it is",
    ),
    "a policy that raises": (
        GOOD + "\n@hookimpl\ndef nanocoder_before_execute(call):\n    raise KeyError('path')\n",
        "test_a_policy_answers_for_every_tool_in_every_mode",
        "return None where unsure",
    ),
    "a policy that returns a word": (
        GOOD + "\n@hookimpl\ndef nanocoder_before_execute(call):\n    return 'allow'\n",
        "test_a_policy_answers_for_every_tool_in_every_mode",
        "return a Verdict or None",
    ),
    "a policy without a reason": (
        GOOD + "\n@hookimpl\ndef nanocoder_before_execute(call):\n"
        "    return Verdict(Decision.DENY)\n",
        "test_a_policy_says_why",
        "deny without a reason",
    ),
    "a provider that raises": (
        GOOD + "\n@hookimpl\ndef nanocoder_providers():\n"
        "    return [ProviderSpec('word', lambda m, s: {}['key'], 'A model.', hint='none')]\n",
        "test_a_provider_that_cannot_be_opened_says_so",
        "raise ProviderError",
    ),
    "a provider without a word": (
        GOOD + "\n@hookimpl\ndef nanocoder_providers():\n"
        "    return [ProviderSpec('word', lambda m, s: None)]\n",
        "test_a_provider_says_what_it_is",
        "say in `description` what it is",
    ),
    "a rendering that is no text": (
        GOOD + "\n@hookimpl\ndef nanocoder_render(call):\n    return 3\n",
        "test_a_rendering_is_text",
        "return text or None",
    ),
    "a chain that breaks": (
        GOOD + "\n@hookimpl\ndef nanocoder_after_execute(result):\n    return result.data['x']\n",
        "test_a_result_stays_a_result",
        "return a ToolResult or None",
    ),
    "a request that is none": (
        GOOD + "\n@hookimpl\ndef nanocoder_before_request(request):\n    return {}\n",
        "test_a_request_stays_a_request",
        "return a Request or None",
    ),
    "a store that forgets results": (
        GOOD + "\nclass Bad:\n    id = 'bad'\n    problem = ''\n    outputs = None\n"
        "    def start(self, cwd, model, mode, *, origin=None, parent=None): return self\n"
        "    def append(self, kind, data, *, sync=False): return 1\n"
        "    def messages(self): return []\n"
        "    def output(self, name, data): return '/etc/passwd'\n"
        "    def close(self): ...\n"
        "    def find(self, name, *, cwd=None): return name\n"
        "@hookimpl\ndef nanocoder_stores():\n    return [Store('bad', lambda e, s, w: Bad())]\n",
        "test_a_store_keeps_what_was_said",
        "every call needs one result",
    ),
    "a screen that knows only some events": (
        GOOD + "\nclass Bad:\n    def show(self, event):\n        event.data['text']\n"
        "    def close(self): ...\n"
        "@hookimpl\ndef nanocoder_screens():\n    return [Screen('bad', lambda i, s: Bad())]\n",
        "test_a_screen_shows_every_event",
        "session.started",
    ),
}


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what one run says about all of BAD, each in a project of its own, by its name."""
    folder = tmp_path_factory.mktemp("bad")
    tests = {
        what: f"{project(folder / f'bad{number}', source)}::{test}"
        for number, (what, (source, test, _)) in enumerate(BAD.items())
    }
    sources = [folder / f"bad{number}/src" for number in range(len(BAD))]
    report = folder / "report.xml"
    options = ("--import-mode=importlib", f"--junit-xml={report}")
    printed = checked(folder, *options, *tests.values(), sources=sources)
    said = {
        case.get("classname", "").split(".")[0]: "".join(case.itertext())
        for case in ET.parse(report).iter("testcase")
        if case.find("failure") is not None
    }
    assert len(said) == len(BAD), printed
    return {what: said[f"bad{number}"] for number, what in enumerate(BAD)}


@pytest.mark.contract("NT-03")
@pytest.mark.contract("NA-15")
@pytest.mark.contract("LC-18")
@pytest.mark.xdist_group("bad plugins")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_found_by_the_test_that_is_about_it(failures, what):
    assert BAD[what][2] in failures[what]


LEAVING = """
    import subprocess, tempfile, threading, warnings
    warnings.simplefilter("ignore")
    tempfile.mkdtemp()
    subprocess.Popen(["sleep", "9"])
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
    return path
"""


def test_what_calls_leave_behind_is_found(tmp_path):
    source = GOOD.replace(BODY, LEAVING.strip())
    printed = checked(tmp_path, f"{project(tmp_path, source)}::test_bad_arguments_become_results")
    assert "it changed something outside the workspace, where now is" in printed
    assert "it left the threads" in printed
    assert "it left the processes" in printed


def test_a_tool_without_an_example_fails_for_that_alone(tmp_path):
    source = GOOD.replace('[{"path": "hello.py"}]', "[]")
    printed = checked(tmp_path, str(project(tmp_path, source)))
    assert "word has no example" in printed
    assert "1 failed, " in printed


def test_a_readme_that_says_nothing_is_found(tmp_path):
    test = project(tmp_path, GOOD, readme="# tool\n")
    assert "say what 'word' is for" in checked(tmp_path, str(test))


# The other parts of the kit


class Broken(Scripted):
    """A provider whose stream is what a function makes of the right one."""

    def __init__(self, change) -> None:
        super().__init__([Finished("Hello.", (ToolCall("a", "x"), ToolCall("b", "x")))] * 2)
        self.change = change

    def stream(self, request, cancel):
        return self.change(super().stream(request, cancel))


def doubled(pieces):
    for piece in pieces:
        yield piece
        yield piece


def without_its_end(pieces):
    return (piece for piece in pieces if isinstance(piece, TextDelta))


def silent(pieces):
    return (piece for piece in pieces if isinstance(piece, Finished))


def deaf(pieces):
    try:
        yield from pieces
    except Cancelled:
        yield Finished("never mind")


def test_a_stream_as_it_has_to_be_has_no_problems():
    assert stream_problems(Broken(lambda pieces: pieces)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (doubled, "2 Finished"),
        (without_its_end, "0 Finished"),
        (silent, "make them equal"),
        (deaf, "it went on although it was cancelled"),
        (lambda pieces: (*pieces, "text"), "it yielded a str"),
    ],
)
def test_a_stream_that_is_not_is_found(change, said):
    problems = stream_problems(Broken(change))
    assert any(said in problem for problem in problems), problems


def test_calls_without_ids_of_their_own_are_found():
    same = Scripted([Finished("", (ToolCall("a", "x"), ToolCall("a", "y")))] * 2)
    assert "give each call an id of its own" in stream_problems(same, Request("m", "", []))[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a").write_text("2"),
        lambda root: (root / "a").chmod(0o755),
        lambda root: (root / "a").rename(root / "c"),
        lambda root: (root / "empty").mkdir(),
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("b")),
    ],
)
def test_a_digest_of_a_tree_sees_every_change(tmp_path, change):
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)
    (tmp_path / "link").symlink_to("a")
    before = tree_digest(tmp_path)
    assert tree_digest(tmp_path) == before
    change(tmp_path)
    assert tree_digest(tmp_path) != before


def test_the_fixtures_are_there_without_an_import(workspace, ctx, home, run_session):
    assert os.environ["HOME"] == str(home)
    assert ctx.workspace is workspace
    assert ctx.tmp_dir.is_dir()
    assert run_session(["Hello."]).text == "Hello."
