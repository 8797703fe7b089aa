import math

import pytest
from nanocoder import SessionInfo, ToolCall, ToolError, WorkspaceError
from nanocoder_testing import definition_problems
from nanocoder_tool_bash import (
    Settings,
    bash,
    nanocoder_render,
    nanocoder_settings,
    nanocoder_tools,
)


def test_the_plugin_offers_bash_and_its_settings():
    assert [tool.name for tool in nanocoder_tools()] == ["bash", "bash_job"]
    assert nanocoder_settings() is Settings


@pytest.mark.contract("LC-09")
@pytest.mark.contract("NT-24")
@pytest.mark.contract("MA-01")
@pytest.mark.contract("NA-41")
def test_only_the_command_is_required():
    assert bash.parameters["required"] == ["command"]
    assert bash.parameters["properties"]["timeout"]["default"] == 120
    assert bash.parameters["properties"]["timeout"]["maximum"] == 1_800
    assert "Seconds" in bash.parameters["properties"]["timeout"]["description"]


def test_bash_is_dangerous_and_may_do_everything():
    assert bash.risk == "dangerous"
    assert bash.effects == {"read", "write", "execute", "network"}


def test_a_model_understands_its_definition():
    assert definition_problems(bash) == []


@pytest.mark.contract("NT-25")
@pytest.mark.contract("NA-42")
def test_it_runs_in_the_workspace(shell):
    assert shell("pwd -P").output == str(shell.root)


@pytest.mark.contract("MA-09")
def test_it_runs_in_a_directory_of_the_workspace(shell):
    (shell.root / "sub").mkdir()
    assert shell("pwd -P", workdir="sub").output == str(shell.root / "sub")


@pytest.mark.contract("LC-09")
@pytest.mark.contract("MA-09")
@pytest.mark.parametrize("workdir", ["..", "/", "link"])
def test_a_directory_outside_is_refused(workdir, shell):
    (shell.root / "link").symlink_to("/tmp")
    with pytest.raises(WorkspaceError) as refused:
        shell("touch made", workdir=workdir)
    assert refused.value.error_class == "path_outside_workspace"


@pytest.mark.parametrize(
    ("workdir", "error_class"), [("none", "cwd_missing"), ("file", "not_a_directory")]
)
def test_a_directory_that_is_none_is_named(workdir, error_class, shell):
    (shell.root / "file").touch()
    with pytest.raises(ToolError, match=workdir) as refused:
        shell("true", workdir=workdir)
    assert refused.value.error_class == error_class


# PROC-026
def test_a_command_that_removes_its_directory_is_told(shell):
    result = shell(f"rm -rf {shell.root}; pwd; ls")
    assert result.error_class == "cwd_missing"
    assert "no longer exists" in result.output
    with pytest.raises(ToolError, match="does not exist"):
        shell("true")


# PROC-024
@pytest.mark.contract("MA-02")
@pytest.mark.parametrize("timeout", [-1, 0, 1e9, "5m", 1_800.1, math.nan, math.inf])
def test_a_limit_out_of_range_is_refused(timeout, shell):
    with pytest.raises(ToolError, match="timeout") as refused:
        shell("true", timeout=timeout)
    assert refused.value.error_class == "invalid_arguments"


def test_settings_can_lower_the_highest_limit(shell):
    shell.settings = Settings(max_timeout_s=150)
    assert shell("echo x", timeout=150).output == "x"
    with pytest.raises(ToolError, match="at most 150"):
        shell("true", timeout=151)


def test_settings_that_allow_less_than_the_default_limit_lower_it(shell):
    shell.settings = Settings(max_timeout_s=1)
    assert shell("sleep 30").error_class == "timeout"


@pytest.mark.parametrize("command", ["", "  \n"])
def test_an_empty_command_is_refused(command, shell):
    with pytest.raises(ToolError, match="command"):
        shell(command)


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800"])
def test_a_command_that_no_program_can_be_given_is_refused(command, shell):
    with pytest.raises(ToolError) as refused:
        shell(command)
    assert refused.value.error_class == "invalid_arguments"


# PROC-029
def test_a_command_that_is_too_long_says_what_to_do(shell):
    with pytest.raises(ToolError, match="script file") as refused:
        shell("true " + "x" * 200_000)
    assert refused.value.error_class == "command_too_long"
    assert shell("true " + "x" * 131_000).output == "(no output)"


def test_arguments_too_long_for_a_program_are_the_commands_own_failure(shell):
    result = shell("env true $(yes xxxxxxxxxxxxxxxxxxxx | head -c 3000000)")
    assert result.error_class == "exit_nonzero"
    assert "too long" in result.output


@pytest.mark.contract("NA-47")
def test_a_shell_that_cannot_be_started_is_an_error_result(shell):
    shell.wrap = lambda argv, _ports: ["/no/such/sandbox", *argv]
    with pytest.raises(ToolError, match="/no/such/sandbox") as refused:
        shell("true")
    assert refused.value.error_class == "spawn_failed"


@pytest.mark.contract("MA-09")
def test_the_sandbox_runs_the_shell(shell):
    shell.wrap = lambda argv, _ports: ["/usr/bin/env", "INSIDE=yes", *argv]
    assert shell("echo $INSIDE").output == "yes"


def preview(root, name="bash", **arguments):
    call = ToolCall("1", name, {"command": "make test", **arguments})
    return nanocoder_render(call, None, SessionInfo("s", root), Settings(max_timeout_s=600))


def test_the_preview_is_the_command_and_where_it_runs(tmp_path):
    root = tmp_path.resolve()
    (root / "sub").mkdir()
    assert preview(root, workdir="sub") == f"make test\n(in {root}/sub)"
    assert preview(root, workdir="sub/..") == preview(root) == "make test"
    assert preview(root, background=True) == "make test\n(in the background)"
    assert preview(root, "grep") is None


@pytest.mark.parametrize(
    ("arguments", "error_class"),
    [
        ({"command": " "}, "invalid_arguments"),
        ({"command": "x" * 131_072}, "command_too_long"),
        ({"timeout": 700}, "invalid_arguments"),
        ({"workdir": "nowhere"}, "cwd_missing"),
        ({"workdir": "../elsewhere"}, "path_outside_workspace"),
    ],
)
def test_the_preview_of_a_command_that_cannot_start_says_why(tmp_path, arguments, error_class):
    with pytest.raises(ToolError) as refused:
        preview(tmp_path, **arguments)
    assert refused.value.error_class == error_class
