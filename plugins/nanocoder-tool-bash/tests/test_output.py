import resource
import sys
import time

import pytest
from attrs import evolve
from nanocoder import ToolInfo
from nanocoder_tool_bash import Settings, bash


@pytest.mark.contract("NT-28")
@pytest.mark.contract("MA-08")
def test_standard_error_comes_after_standard_output(shell):
    result = shell("echo out; echo err >&2")
    assert result.output == "out\nSTDERR:\nerr"
    assert result.data["stdout"] == "out\n"
    assert result.data["stderr"] == "err\n"


@pytest.mark.contract("NT-30")
def test_a_silent_command_says_so(shell):
    assert shell("true; true").output == "(no output)"


@pytest.mark.contract("NT-31")
@pytest.mark.contract("MA-09")
def test_a_failing_command_keeps_its_output_and_adds_the_exit_code(shell):
    result = shell("echo some; exit 3")
    assert result.output == "some\n[exit code 3]"
    assert (result.is_error, result.error_class) == (True, "exit_nonzero")
    assert result.metadata["exit_code"] == 3


@pytest.mark.contract("NA-43")
@pytest.mark.contract("NA-44")
def test_title_and_metadata_name_the_command(shell):
    command = "echo " + "a" * 60
    result = shell(command)
    assert result.title == "Bash: " + command[:50]
    assert result.metadata["command"] == command
    assert result.metadata["exit_code"] == 0
    assert 0 < result.metadata["duration_s"] < 5


# PROC-027
def test_a_signal_is_named_with_its_exit_code(shell):
    assert shell("kill -SEGV $$").output == "[exit code 139, as after signal SIGSEGV]"
    assert shell("sh -c 'kill -SEGV $$'; exit $?").output.endswith(
        "[exit code 139, as after signal SIGSEGV]"
    )


# PROC-012
@pytest.mark.contract("MA-08")
def test_both_pipes_are_read_while_both_are_full(shell):
    script = (
        "import sys\nfor i in range(20000): sys.stdout.write('o'*100); sys.stderr.write('e'*100)"
    )
    result = shell(f'{sys.executable} -c "{script}"')
    assert result.metadata["bytes"] == 4_000_000
    assert not result.is_error


@pytest.mark.contract("NT-29")
@pytest.mark.contract("MA-03")
def test_long_output_keeps_head_and_tail_and_is_kept_whole_in_a_file(shell):
    result = shell("seq 1 100000")
    assert result.output.startswith("1\n2\n3\n")
    assert result.output.endswith("\n99999\n100000")
    assert len(result.output) < 8_300
    assert f" lines left out; whole output: {result.artifact}]\n" in result.output
    assert result.metadata["truncated"] is True
    assert (shell.outputs / "call-1-stdout.txt").read_text().splitlines() == [
        str(number) for number in range(1, 100_001)
    ]


# PROC-011
def test_a_long_standard_output_does_not_hide_a_short_standard_error(shell):
    result = shell("echo first >&2; seq 1 100000; echo last >&2")
    assert result.output.endswith("100000\nSTDERR:\nfirst\nlast")
    assert result.artifact.endswith("stdout.txt")


def test_the_length_of_the_output_is_a_setting(shell):
    shell.settings = Settings(output_chars=90)
    result = shell("seq 1 1000")
    assert len(result.output) < 90 + 200
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("\n1000")


@pytest.mark.contract("NT-26")
@pytest.mark.timeout(60)
def test_a_hundred_megabytes_need_little_memory_and_are_all_kept(shell):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = shell("head -c 99000000 /dev/zero | tr '\\0' 'x'")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert result.metadata["bytes"] == 99_000_000
    assert (shell.outputs / "call-1-stdout.txt").stat().st_size == 99_000_000
    assert after - before < 150_000, "kilobytes: the file is read once to be kept"


def test_of_long_output_like_lines_are_counted(shell):
    result = shell("echo begin; for n in $(seq 500); do echo copied file $n of 500; done; echo end")
    assert result.output == (
        "begin\ncopied file 1 of 500\n… 498 lines like this\ncopied file 500 of 500\nend\n"
        f"[like lines are counted, long ones cut; whole output: {result.artifact}]"
    )


def test_a_line_is_cut_where_the_output_is_long(shell):
    output = shell("echo begin; head -c 20000 /dev/zero | tr '\\0' x; echo; echo end").output
    assert output.startswith(f"begin\n{'x' * 2_000} [18,000 characters left out]\nend\n")


def test_lines_about_errors_between_head_and_tail_are_kept(shell):
    words = "for n in $(seq 2000); do echo step $n$n; echo; done"
    result = shell(
        f"{words} | tee /dev/null | sed 's/^step 900900$/main.c:7: error: no such type/'"
    )
    assert result.output.count("error: no such type") == 1
    seq = "seq 100000 | sed 's/^50000$/main.c:7: error: no such type/'"
    output = shell(seq).output
    assert "]\n[lines of it about errors:]\nmain.c:7: error: no such type\n" in output
    assert len(output) < 8_500


def test_of_a_progress_bar_the_last_state_is_shown(shell):
    output = shell("printf '10%%\\r50%%\\r100%%\\ndone\\r\\n'").output
    assert output == "100%\ndone"


# PROC-010
@pytest.mark.timeout(30)
def test_an_endless_flood_ends_at_the_limit_with_head_and_tail(shell):
    began = time.monotonic()
    result = shell("echo begin; yes AAAAAAAAAAAAAAAA", timeout=1)
    assert time.monotonic() - began < 5
    assert result.error_class == "timeout"
    assert result.output.startswith("begin\nAAAA")
    assert result.metadata["bytes"] > 1_000_000
    assert (shell.outputs / "call-1-stdout.txt").stat().st_size <= 100_000_000


# PROC-014
@pytest.mark.contract("MA-07")
def test_binary_output_is_reported_and_not_shown(shell):
    result = shell("printf 'a\\0b'; echo fine >&2")
    assert result.output.startswith("[binary output: 3 bytes, not shown; whole output: ")
    assert result.output.endswith("STDERR:\nfine")
    assert result.metadata["binary"] is True
    assert (shell.outputs / "call-1-stdout.txt").read_bytes() == b"a\0b"


def test_bytes_that_are_not_utf8_are_replaced(shell):
    assert shell("printf 'a\\377b'").output == "a\ufffdb"


@pytest.mark.parametrize(
    "command",
    [
        "cd . && apply_patch <<'EOF'\n*** Begin Patch\nEOF",
        "bash -lc \"apply_patch <<'EOF'\n*** Begin Patch\nEOF\n\"",
        'applypatch <<"PATCH"\n*** Begin Patch\nPATCH',
        "cat <<'EOF' | apply_patch\n*** Begin Patch\nEOF",
        "apply_patch < /dev/null 2>&1; true",
        "sh -c 'apply_patch x'",
        "apply_patch <<'EOF'\n*** Begin Patch\nEOF\necho done",
    ],
)
def test_a_tool_that_is_called_as_a_program_fails_and_is_named(shell, command):
    tools = (ToolInfo("apply_patch", "", {"properties": {}}),)
    context = evolve(shell.context(), tools=lambda: tools)
    result = bash.invoke(context, bash.signature.check({"command": command}))
    assert result.is_error
    assert result.output.count("is a tool and no program: call the tool apply_patch") == 1


def test_a_missing_program_that_no_tool_is_named_like_changes_nothing(shell):
    result = shell("no_such_program_xyz; echo 'apply_patch: command not found'")
    assert (result.is_error, "is a tool" in result.output) == (False, False)
