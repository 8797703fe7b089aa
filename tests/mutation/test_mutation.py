"""The runner of mutants, on a small module with a test."""

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import mutation
import operators
import pytest

HERE = Path(__file__).parent
MODULE = """
from functools import cache


@cache
def is_adult(age):
    \"\"\"Tell.\"\"\"
    return age >= 18


def is_unused(age):
    return age > 3


class Door:
    def open(self, count, *, most=2):
        left = most - count
        while left:
            left -= 1
        return count < most
"""
TEST = """
from ages import Door, is_adult


def test_ages():
    assert is_adult(18)
    assert not is_adult(17)


def test_door():
    assert Door().open(1)
    assert not Door().open(2)
"""
RUN = """
import sys
from pathlib import Path
from mutation import Group, run
root, *names = sys.argv[1:]
result = run(Group("sample", {"ages.py": names}, ["test_ages.py"], 95), Path(root), seconds=1.0)
print(result.killed, len(result.survivors))
"""


def changes(code: str) -> set[str]:
    """Return what the function of *code* is changed to."""
    source = f"def f(a, b):\n{textwrap.indent(code, '    ')}"
    return {mutant.after for mutant in operators.mutants(source)}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return a < 1", {"a <= 1", "2"}),
        ("return a and not b", {"a or not b", "b"}),
        ("x = 'Ab'", {"'XXAbXX'", "'ab'", "'AB'", "x = None"}),
        ("x: int = None", {"x: int = ''"}),
        ("x += 2", {"x = 2", "x -= 2", "3"}),
        ("return a(1, b=2)", {"a(None, b=2)", "a(b=2)", "a(1)", "a(1, b=None)", "2", "3"}),
        ("return a.lower()", {"a.upper()"}),
        ("return a.split(b, 1)", {"a.rsplit(b, 1)", "a.split(None, 1)", "a.split(b, None)"}),
        ("return lambda: b", {"lambda: None"}),
        ("return a if b else 1", {"a if b and False else 1", "a if b or True else 1"}),
        ("for x in a:\n    continue", {"break"}),
        ("for x in a:\n    break", {"return"}),
        ("return a is None, a in b", {"a is not None", "a not in b"}),
        ("return f'{a + b} text'", {"a - b"}),
    ],
    ids=range(14),
)
def test_each_operator_changes_what_mutmut_changes(code, expected):
    assert expected <= changes(code)


def test_docstrings_annotations_and_decorators_stay():
    source = '@a("x")\ndef f(a: "x" = 1) -> "y":\n    """Say."""\n    return a\n'
    assert [mutant.after for mutant in operators.mutants(source)] == ["2"]
    assert ast.unparse(next(operators.mutants(source)).tree).count("x") == 2


def mutate(folder, *names):
    """Run the mutants of MODULE in a process of its own."""
    (folder / "ages.py").write_text(MODULE)
    (folder / "test_ages.py").write_text(TEST)
    environ = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{folder}"}
    argv = [sys.executable, "-c", RUN, str(folder), *names]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)


def test_what_no_test_notices_survives_and_the_rest_is_killed(tmp_path):
    done = mutate(tmp_path)
    assert done.returncode == 0, done.stderr
    survivors = [line for line in done.stdout.splitlines() if line.startswith("survived")]
    assert any("0 tests: ages.py:12: is_unused: age > 3  ->  age >= 3" in it for it in survivors)
    assert not any("is_adult" in line for line in survivors)
    killed, count = map(int, done.stdout.split()[-2:])
    assert count == len(survivors)
    assert killed >= 7  # a loop without an end, and defaults of a method, among them


def test_only_the_named_functions_are_mutated(tmp_path):
    done = mutate(tmp_path, "is_adult")
    assert done.stdout.split()[-2:] == ["2", "0"], done.stdout


def test_functions_that_the_collector_does_not_look_at_are_mutated(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import gc\n\ndef pytest_collection_finish():\n    gc.freeze()\n"
    )
    done = mutate(tmp_path, "is_adult")
    assert done.stdout.split()[-2:] == ["2", "0"], done.stdout


def test_what_decides_about_calls_is_mutated():
    goals = {name: group.goal for name, (group, _) in mutation.groups().items()}
    assert {name: goals.get(name) for name in ("joining", "paths", "recogniser")} == {
        "joining": 95,
        "paths": 95,
        "recogniser": 95,
    }


def test_tests_that_fail_already_are_named(tmp_path):
    (tmp_path / "ages.py").write_text(MODULE)
    global_test = TEST.replace("not is_adult(17)", "is_adult(17)")
    (tmp_path / "test_ages.py").write_text(global_test)
    environ = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{tmp_path}"}
    argv = [sys.executable, "-c", RUN, str(tmp_path)]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the tests fail without a mutant" in done.stderr + done.stdout
