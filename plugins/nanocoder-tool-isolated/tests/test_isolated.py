"""Plugins and programs in processes of their own: real ones, inside of bubblewrap."""

import json
import os
import shutil
import sys
import textwrap
import time
from pathlib import Path

import pytest
from nanocoder import Cancel, Cancelled, PluginError, SessionInfo, ToolContext, Workspace
from nanocoder_kit_process.capabilities import Package
from nanocoder_tool_isolated import Settings, jail
from nanocoder_tool_isolated.tools import _group, isolated_tools

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.needs("bwrap"),
]

PLUGIN = '''
import os, subprocess, sys
from pathlib import Path
from nanocoder import hookimpl, tool

print("noise at import")

@tool(risk="medium", effects={{"read", "write", "execute", "network"}})
def act(ctx, what: str, target: str = "") -> str:
    """Do one thing."""
    return str({{"write": lambda: Path(target).write_text("x"),
        "keep": lambda: ctx.workspace.write_text(target, "x"),
        "read": lambda: ctx.workspace.read_text(target),
        "look": lambda: Path(target).read_text(),
        "list": lambda: sorted(os.listdir(target)),
        "start": lambda: subprocess.run(["/bin/echo", "hi"], capture_output=True).stdout,
        "env": lambda: os.environ.get(target, "absent"),
        "connect": lambda: __import__("socket").create_connection((target, 80), 2),
        "leave": lambda: os._exit(3),
        "raise": lambda: 1 // 0,
        "progress": lambda: ctx.progress("half"),
        "deep": lambda: __import__("ctypes").CDLL(None).system(b"touch " + target.encode()),
    }}[what]())

@hookimpl
def nanocoder_tools():
    return [act]
'''


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "notes.txt").write_text("one two")
    (folder / ".nanocoder").mkdir()
    return folder


class Acting:
    """A plugin with some capabilities, and its calls in a workspace."""

    def __init__(self, tmp_path: Path, workspace: Path, names: list[str], **settings: object):
        folder = tmp_path / "site/acme_act"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(PLUGIN.format())
        listed = ", ".join(f'"{name}"' for name in names)
        (folder / "nanocoder-plugin.toml").write_text(f"api = 1\ncapabilities = [{listed}]\n")
        package = Package("acme-act", "1", ("acme-act",), (folder,), ())
        self.group = _group("acme-act", package, Settings(**settings))  # type: ignore[arg-type]
        self.workspace = workspace
        self.progress: list[str] = []

    def __call__(self, what: str, target: str = "", cancelled: Cancel | None = None):
        with Workspace(self.workspace) as files:
            ctx = ToolContext(
                "s",
                "c1",
                files,
                self.workspace,
                cancelled=cancelled or Cancel(),
                session=SessionInfo("s", self.workspace),
                progress=lambda text, **_: self.progress.append(text),
            )
            return self.group.call("act", ctx, {"what": what, "target": target})


@pytest.mark.contract("I15")
@pytest.mark.contract("W1")
# PLUG-018
def test_what_a_plugin_does_not_declare_it_cannot_do(tmp_path, workspace, monkeypatch):
    monkeypatch.setenv("NANOCODER_API_KEY", "sk-canary-31f0")
    act = Acting(tmp_path, workspace, ["fs.read"])
    assert act("read", "notes.txt").output == "one two"
    outside = tmp_path / "out"
    for what, target, error_class in [
        ("write", str(workspace / "x"), "capability_denied"),
        ("start", "", "capability_denied"),
        ("connect", "127.0.0.1", "capability_denied"),
        ("deep", str(outside), "capability_denied"),
    ]:
        act.group.budget._failures = 0
        result = act(what, target)
        assert (result.is_error, result.error_class) == (True, error_class), (what, result)
    assert act("env", "NANOCODER_API_KEY").output == "absent"
    assert sorted(os.listdir(workspace)) == [".nanocoder", "notes.txt"]
    assert not outside.exists()


# PLUG-042
def test_nothing_outside_of_the_workspace_is_changed(tmp_path, workspace):
    act = Acting(tmp_path, workspace, ["fs.read", "fs.write"])
    assert not act("keep", "new.txt").is_error
    assert (workspace / "new.txt").read_text() == "x"
    other = tmp_path / "state/other-plugin"
    other.mkdir(parents=True)
    assert act("write", f"{tmp_path}/state/acme-act/../other-plugin/x").is_error
    assert list(other.iterdir()) == []
    canary = Path(f"/var/tmp/canary-of-a-test-{os.getpid()}")  # a home may lie below /tmp
    assert act("write", str(canary)).error_class == "path_outside_workspace"
    assert not canary.exists()


def test_the_sandbox_holds_what_gets_past_the_check_in_python(tmp_path, workspace):
    act = Acting(tmp_path, workspace, ["fs.read", "exec"])
    own = workspace / ".nanocoder/config.toml"
    for target in (workspace / "x", own, Path.home() / "x-of-a-test"):
        act("deep", str(target))
        assert not target.exists(), target
    act = Acting(tmp_path, workspace, ["fs.read", "fs.write", "exec"])
    act("deep", str(workspace / "made"))
    assert (workspace / "made").exists(), "the way round the check works"
    act("deep", str(workspace / ".nanocoder/config.toml"))
    assert not (workspace / ".nanocoder/config.toml").exists()


def test_without_a_capability_the_workspace_is_empty_and_the_home_always_is(tmp_path, workspace):
    act = Acting(tmp_path, workspace, ["exec"])
    assert act("list", str(workspace)).output == "[]"
    act = Acting(tmp_path, workspace, ["env:ACME_NAME", "fs.read"])
    assert "notes.txt" in act("list", str(workspace)).output
    assert ".ssh" not in act("list", str(Path.home())).output


def test_declared_variables_and_programs_work(tmp_path, workspace, monkeypatch):
    monkeypatch.setenv("ACME_NAME", "Ann")
    act = Acting(tmp_path, workspace, ["env:ACME_NAME", "exec"])
    assert act("env", "ACME_NAME").output == "Ann"
    assert "hi" in act("start").output
    act("progress")
    assert act.progress == ["half"]


@pytest.mark.contract("W8")
@pytest.mark.contract("W12")
def test_a_plugin_that_breaks_ends_the_call_and_is_set_aside_in_the_end(tmp_path, workspace):
    act = Acting(tmp_path, workspace, [], failures=2)
    assert act("raise").error_class == "tool_broken"
    for _ in range(2):
        result = act("leave")
        assert result.error_class == "isolated_crash"
        assert "acme-act: the process ended with code 3 without a result" in result.output
    with pytest.raises(Exception, match="acme-act is disabled until nanocoder is started again"):
        act("env", "HOME")
    act = Acting(tmp_path, workspace, [], calls=1)
    act("env", "HOME")
    with pytest.raises(Exception, match=r"acme-act has used up its 1 call \("):
        act("env", "HOME")


def test_the_doctor_says_that_calls_lack_bubblewrap(nanocoder):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True)
    rows = {}
    for key, settings in (("used", 'process = ["tool-list"]'), ("unused", "")):
        file.write_text(f"[plugins.tool-isolated]\n{settings}\n")
        done = nanocoder("doctor", "--output", "json", env={"PATH": "/nonexistent"})
        checks = json.loads(done.stdout)["checks"]
        of_it = [row for row in checks if row["check"] == "plugin tool-isolated"]
        rows[key] = [(row["status"], row["detail"]) for row in of_it]
    [(status, detail)] = rows["used"]
    assert status == "wrong"
    assert detail.startswith("each call of its tools is refused: bubblewrap is not installed")
    assert [status for status, _ in rows["unused"]] == ["ok"]


def test_without_bubblewrap_a_call_says_so(tmp_path, workspace, monkeypatch):
    act = Acting(tmp_path, workspace, ["fs.read"])
    monkeypatch.setattr(jail, "problem", lambda: "bubblewrap is not installed")
    result = act("read", "notes.txt")
    assert result.error_class == "sandbox_unavailable"
    assert "bubblewrap is not installed" in result.output


def test_a_plugin_with_hooks_inside_nanocoder_is_refused(tmp_path):
    folder = tmp_path / "acme_more"
    folder.mkdir()
    hook = "from nanocoder import hookimpl\n@hookimpl\ndef nanocoder_event(event): pass\n"
    (folder / "__init__.py").write_text(hook)
    package = Package("acme-more", "1", ("acme-more",), (folder,), ())
    with pytest.raises(PluginError, match="cannot run in a process of its own: its hooks event"):
        _group("acme-more", package, Settings())
    with pytest.raises(PluginError, match="no plugin 'tool-raed' is installed"):
        isolated_tools({}, Settings(process=("tool-raed",)))


TOOLS = """
api = 1
command = ["{program}", "tool.{end}"]
capabilities = ["fs.read"]

[[tools]]
name = "shout"
description = "Say it louder."
parameters = {{ type = "object", required = ["text"], properties.text.type = "string" }}
"""


def program(tmp_path: Path, source: str, *, name: str = "sh", end: str = "sh", **settings: object):
    folder = tmp_path / "shout"
    folder.mkdir(exist_ok=True)
    (folder / "tools.toml").write_text(TOOLS.format(program=name, end=end))
    (folder / f"tool.{end}").write_text(textwrap.dedent(source))
    options = Settings(folders=(str(folder),), **settings)  # type: ignore[arg-type]
    [tool] = isolated_tools({}, options)
    return tool


def called(tool, workspace: Path, arguments: dict[str, object], cancelled: Cancel | None = None):
    with Workspace(workspace) as files:
        info = SessionInfo("s", workspace)
        cancel = cancelled or Cancel()
        ctx = ToolContext("s", "c1", files, workspace, cancelled=cancel, session=info)
        return tool.invoke(ctx, tool.signature.check(arguments))


@pytest.mark.contract("MA-121")
@pytest.mark.parametrize(
    ("name", "end", "source"),
    [
        ("sh", "sh", """read -r request; printf '{"output": "HEY"}\\n'"""),
        (
            "node",
            "js",
            """
            process.stdin.once("data", (line) => {
              const request = JSON.parse(line);
              console.log(JSON.stringify({progress: "loud"}));
              console.log(JSON.stringify({output: request.arguments.text.toUpperCase()}));
              process.exit(0);
            });
            """,
        ),
        (
            "python3",
            "py",
            """
            import json, sys
            request = json.loads(sys.stdin.readline())
            print(json.dumps({"output": request["arguments"]["text"].upper(), "title": "t"}))
            """,
        ),
    ],
)
def test_a_tool_may_be_a_program_in_any_language(tmp_path, workspace, name, end, source):
    tool = program(tmp_path, source, name=name, end=end)
    result = called(tool, workspace, {"text": "hey"})
    assert (result.output, result.is_error) == ("HEY", False), result
    assert (tool.name, str(tool.risk), tool.plugin) == ("shout", "medium", "tool-isolated")


def test_calls_that_make_protected_names_follow_each_other(tmp_path, workspace):
    """What one call made is taken away while the next one starts."""
    source = 'mkdir -p .vscode/x; echo > .envrc; printf \'{"output": "fine"}\\n\''
    program(tmp_path, source)
    rules = tmp_path / "shout/tools.toml"
    rules.write_text(rules.read_text().replace("fs.read", "fs.write"))
    [tool] = isolated_tools({}, Settings(folders=(str(rules.parent),)))
    for delay_s in (0, 0.1, 0.2, 0.25, 0.3, 0.4, 0, 0):
        time.sleep(delay_s)
        result = called(tool, workspace, {"text": "x"})
        assert result.output.startswith("fine"), result
    assert not (workspace / ".envrc").exists()


@pytest.mark.parametrize("only_there", [True, False])
def test_a_program_in_the_home_is_taken_where_no_other_has_its_name(
    tmp_path, workspace, monkeypatch, only_there
):
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    shim = home / "bin/acme-sh"
    shim.write_text("""#!/bin/sh\nprintf '{"output": "home"}\n'""")
    shim.chmod(0o755)
    system = tmp_path / "system"
    system.mkdir()
    if not only_there:
        shutil.copy(shim, system / "acme-sh").write_text("#!/bin/sh\n. $1")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/bin:{system}:/usr/bin:/bin")
    tool = program(tmp_path, """printf '{"output": "system"}\n'""", name="acme-sh")
    result = called(tool, workspace, {"text": "hey"})
    assert result.output == ("home" if only_there else "system"), result


def test_a_program_may_be_a_link_in_the_folder_of_the_interpreter(tmp_path, workspace, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.defpath}")
    tool = program(tmp_path, """print('{"output": "linked"}')""", name="python3", end="py")
    result = called(tool, workspace, {"text": "hey"})
    assert result.output == "linked", result


@pytest.mark.rows(5)
@pytest.mark.parametrize(
    ("source", "error_class", "text"),
    [
        ("exit 0", "isolated_crash", "ended with code 0 without a result"),
        ("echo oh no >&2; exit 7", "isolated_crash", "ended with code 7 without a result: oh no"),
        ("kill -9 $$", "isolated_crash", "without a result"),
        ("sleep 60", "timeout", "no result came within 1 s"),
        ('yes \'{"progress": "x"}\'', "output_too_large", "wrote more than 65,536 bytes"),
        ("yes | tr -d '\\n'", "output_too_large", "wrote more than 65,536 bytes"),
        ("echo hello", "protocol_error", "a line that is not JSON"),
        ("echo '[1]'", "protocol_error", "a line that is no object"),
        ("echo '{\"output\": 1}'", "protocol_error", "'output' with the value 1"),
        ('echo \'{"text": "x"}\'', "protocol_error", "an object without output"),
        ("echo '{\"progress\": 1}'", "protocol_error", "a progress that is no text"),
        ("printf '\\377\\n'", "protocol_error", "a line that is not JSON"),
        ('exec 2>&-; echo \'{"output": "fine"}\'; sleep 60', "", "fine"),
        ('yes >&2 & echo \'{"output": "fine"}\'', "", "fine"),
    ],
)
def test_each_way_to_break_ends_in_one_clear_error(tmp_path, workspace, source, error_class, text):
    tool = program(tmp_path, source, timeout_s=1.0, output_kb=64)
    began = time.monotonic()
    result = called(tool, workspace, {"text": "x"})
    assert time.monotonic() - began < 10
    assert (result.error_class, result.is_error) == (error_class, bool(error_class)), result
    assert text in result.output
    assert called(program(tmp_path, 'echo \'{"output": "on"}\''), workspace, {"text": "x"}).output


def test_an_interruption_ends_the_process(tmp_path, workspace):
    tool, cancel = program(tmp_path, "sleep 60", timeout_s=0), Cancel()
    cancel.set("stop")
    result = called(tool, workspace, {"text": "x"}, cancel)
    assert result.error_class == Cancelled.error_class


def test_arguments_are_checked_before_the_program_starts(tmp_path):
    tool = program(tmp_path, "exit 1")
    for arguments, problem in [
        ({}, "text: is missing"),
        ({"text": 1}, "text: expected string, got 1"),
        ({"text": "x", "txet": 1}, "txet: unknown; did you mean 'text'"),
        ([], "the arguments: expected an object"),
    ]:
        with pytest.raises(Exception, match=problem):
            tool.signature.check(arguments)


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("api = 1", "api = 2", "api is 2"),
        ('command = ["sh", "tool.sh"]', "", "command is missing"),
        ('["sh"', '["no-such-program"', "there is no program 'no-such-program'"),
        ('"fs.read"', '"fs.raed"', "did you mean 'fs.read'"),
        ('name = "shout"', 'name = "Shout!"', "is not a tool name"),
        ('name = "shout"', 'name = "shout"\nrisc = "safe"', "did you mean 'risk'"),
        ("Say it louder.", "Say\\u200b it.", "invisible characters"),
        ('"fs.read"]', '"exec"]\n', ""),
        ('type = "object",', 'type = "array",', "expected a JSON Schema"),
        ("[[tools]]", "[[tool]]", "there is no key 'tool'"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(tmp_path, old, new, message):
    program(tmp_path, "exit 1")
    file = tmp_path / "shout/tools.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    options = Settings(folders=(str(file.parent),))
    if message:
        with pytest.raises(PluginError, match=message):
            isolated_tools({}, options)
    else:
        [tool] = isolated_tools({}, options)
        assert (str(tool.risk), sorted(map(str, tool.effects))) == ("dangerous", ["execute"])
        file.write_text(file.read_text().replace('name = "shout"', 'name = "shout"\nrisk = "safe"'))
        with pytest.raises(PluginError, match="risk is safe, and its program may start programs"):
            isolated_tools({}, options)
