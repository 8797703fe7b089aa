"""What run_tests does with programs that behave, fail, hang and write a lot."""

import sys
import threading
import time

import nanocoder_tool_run_tests as plugin
import pytest
from nanocoder import Cancelled, ToolError
from nanocoder_tool_run_tests import Settings, run_tests


@pytest.fixture
def program(ctx, workspace):
    """Return a function that makes a Python program the test command."""

    def make(source, **more):
        (workspace.root / "program.py").write_text(source)
        ctx.settings = Settings(command=(sys.executable, "program.py"), **more)

    return make


@pytest.mark.contract("NT-47")
@pytest.mark.contract("NT-48")
def test_no_argument_is_required_and_the_limit_is_a_minute():
    schema = run_tests.signature.json_schema
    assert set(schema["properties"]) == {"pattern", "watch"}
    assert schema.get("required", []) == []
    assert run_tests.timeout_s == 60
    assert run_tests.risk == "dangerous"


@pytest.mark.contract("NT-47")
def test_warnings_stand_behind_the_output(ctx, program):
    program("import sys; print('3 passed'); print('slow', file=sys.stderr)")
    assert run_tests(ctx).output == "3 passed\n\nWarnings:\nslow"


@pytest.mark.contract("NT-47")
@pytest.mark.parametrize("pattern", ["a b", "; touch hacked", "$(touch hacked)", "-x", "'\"`"])
def test_a_pattern_is_one_argument_and_passes_no_shell(ctx, workspace, program, pattern):
    program("import sys; print(sys.argv[1:])", pattern="--only={}")
    assert run_tests(ctx, pattern).output == str([f"--only={pattern}"])
    assert [path.name for path in workspace.root.iterdir()] == ["program.py"]


def test_failing_tests_are_an_error_with_their_output(ctx, program):
    program("import sys; print('1 failed'); sys.exit(3)")
    with pytest.raises(ToolError, match="exit code 3") as caught:
        run_tests(ctx)
    assert caught.value.error_class == "tests_failed"
    assert "1 failed" in str(caught.value)


def test_a_program_that_is_not_there_is_said(ctx):
    ctx.settings = Settings(command=("no-such-program-here",))
    with pytest.raises(ToolError, match="could not be started"):
        run_tests(ctx)


def test_watching_needs_a_program_that_can(ctx, program):
    program("import sys; print(sys.argv[1:])", watch="--watch")
    assert run_tests(ctx, watch=True).output == "['--watch']"
    program("")
    with pytest.raises(ToolError, match="cannot be watched"):
        run_tests(ctx, watch=True)


def test_a_cancel_ends_the_program_and_its_children(ctx, workspace, program):
    program(
        "import subprocess, sys, time\n"
        'code = \'import time; time.sleep(2); open("late", "w")\'\n'
        "subprocess.Popen([sys.executable, '-c', code])\n"
        "open('begun', 'w').close()\n"
        "time.sleep(40)\n"
    )

    def interrupt():
        while not (workspace.root / "begun").exists():
            time.sleep(0.01)
        ctx.cancelled.set()

    threading.Thread(target=interrupt, daemon=True).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        run_tests(ctx)
    assert time.monotonic() - started < 1.5
    time.sleep(2.5)
    assert not (workspace.root / "late").exists()


def test_a_lot_of_output_on_both_sides_is_no_deadlock(ctx, program):
    program("import sys\nfor _ in range(9000): print('x' * 20); print('y' * 20, file=sys.stderr)")
    output = run_tests(ctx).output
    assert output.count("x" * 20) == output.count("y" * 20) == 9000


@pytest.mark.contract("NT-49")
def test_the_core_ends_it_at_its_limit_and_asks_before_it_runs(workspace, run_session):
    turns = [[("run_tests", {})], "It needs your consent."]
    played = run_session(turns, plugins={"tool-run-tests": plugin})
    assert played.report["stop_reason"] == "approval_needed"
