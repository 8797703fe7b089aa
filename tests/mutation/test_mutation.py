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
from mutation import Group, Way, run
root, *names = sys.argv[1:]
result = run(Group("sample", {"ages.py": names}, ["test_ages.py"], 95), Path(root), seconds=1.0)
print(result.killed, result.ways[Way.SURVIVED])
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


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if a:\n    b()", {"if True:\n    b()", "if False:\n    b()", "pass"}),
        ("while a:\n    b()", {"while False:\n    b()"}),
        ("return a and b.c and b", {"b.c and b", "a and b", "a and b.c"}),
        ("return a or b", {"a", "b", "return None"}),
        ("return [x for x in a if x]", {" for x in a", " for x in a if False"}),
        ("raise a", {"pass"}),
        ("try:\n    a()\nexcept KeyError:\n    b()", {"except KeyError:\n    raise", "pass"}),
        ("try:\n    a()\nexcept (A, B):\n    b()", {f"except ({it},):\n    b()" for it in "AB"}),
        ("return {a, b}", {"{a}", "{b}"}),
        ("return [*a, b]", {"[b]"}),
        ("return (x := a)", {"(x := None)"}),
        ("return any(a), min(b), a.startswith(b)", {"all(a)", "max(b)", "a.endswith(b)"}),
    ],
    ids=range(12),
)
def test_each_operator_changes_what_a_gate_is_made_of(code, expected):
    assert expected <= {after.strip("\n").removeprefix("\n") for after in changes(code)}


def test_a_change_that_is_no_program_is_no_mutant():
    assert not {"'A'", "'a'"} & changes("match a:\n    case {'a': _, 'A': _}:\n        b()")


def test_docstrings_annotations_and_decorators_stay():
    source = '@a("x")\ndef f(a: "x" = 1) -> "y":\n    """Say."""\n    print(a)\n'
    assert {mutant.after for mutant in operators.mutants(source)} == {"2", "pass", "print(None)"}
    assert ast.unparse(next(operators.mutants(source)).tree).count("x") == 2


def mutate(folder, *names, module=MODULE, test=TEST):
    """Run the mutants of *module* in a process of its own."""
    (folder / "ages.py").write_text(module)
    (folder / "test_ages.py").write_text(test)
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
    assert done.stdout.split()[-2:] == ["3", "0"], done.stdout


def test_functions_that_the_collector_does_not_look_at_are_mutated(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import gc\n\ndef pytest_collection_finish():\n    gc.freeze()\n"
    )
    done = mutate(tmp_path, "is_adult")
    assert done.stdout.split()[-2:] == ["3", "0"], done.stdout


def test_what_decides_about_calls_is_mutated():
    goals = {name: group.goal for name, (group, _) in mutation.groups().items()}
    assert {name: goals.get(name) for name in ("joining", "paths", "recogniser")} == {
        "joining": 95,
        "paths": 95,
        "recogniser": 95,
    }


def test_tests_that_fail_already_are_named(tmp_path):
    done = mutate(tmp_path, test=TEST.replace("not is_adult(17)", "is_adult(17)"))
    assert done.returncode != 0
    assert "the tests fail without a mutant" in done.stderr + done.stdout


def test_a_function_that_is_not_there_is_named(tmp_path):
    done = mutate(tmp_path, "is_adult", "was_renamed")
    assert done.returncode != 0
    assert "ages.py has no function was_renamed" in done.stderr + done.stdout


def test_a_module_that_no_test_loads_is_named(tmp_path):
    done = mutate(tmp_path, "is_adult", test="def test_nothing():\n    pass\n")
    assert done.returncode != 0
    assert "is_adult is not in this process" in done.stderr + done.stdout


CLOSURES = """
def ending(text):
    def add(word):
        return word + text

    return add


add_s = ending("s")


class Base:
    def name(self):
        return "a"


class Door(Base):
    def name(self):
        return add_s(super().name())

    @property
    def size(self):
        return self.value

    @size.setter
    def size(self, value):
        self.value = value
"""
CLOSURES_TEST = """
from ages import Door


def test_name_and_size():
    door = Door()
    assert door.name() == "as"
    door.size = 3
    assert door.size == 3
"""


def test_closures_and_both_functions_of_a_property_are_mutated(tmp_path):
    done = mutate(tmp_path, module=CLOSURES, test=CLOSURES_TEST)
    assert done.returncode == 0, done.stderr
    survivors = [line for line in done.stdout.splitlines() if line.startswith("survived")]
    # That ran before the tests, what it returned is what they call.
    assert len(survivors) == 1
    assert "0 tests: ages.py:6: ending: return add  ->  return None" in survivors[0]


CHANCE = """
from pathlib import Path
from ages import is_adult

COUNT = Path(__file__).with_name("count")


def test_fails_each_third_time():
    is_adult(18)
    COUNT.write_text(COUNT.read_text() + "x" if COUNT.exists() else "")
    assert len(COUNT.read_text()) % 3 != 1
"""


def test_a_test_that_fails_by_chance_kills_nothing(tmp_path):
    done = mutate(tmp_path, "is_adult", test=CHANCE)
    assert done.stdout.split()[-2:] == ["0", "3"], done.stdout


TOGETHER = """
from ages import is_adult

SEEN = []


def test_first():
    SEEN.append(is_adult(18))


def test_second():
    is_adult(18)
    assert SEEN
"""


def test_a_test_that_fails_alone_kills_nothing(tmp_path):
    done = mutate(tmp_path, "is_adult", test=TOGETHER)
    assert done.stdout.split()[-2:] == ["0", "3"], done.stdout


CRASHING = """
import os
from ages import is_adult


def test_crash():
    if not is_adult(18):
        os.abort()
"""


def test_a_crash_kills(tmp_path):
    done = mutate(tmp_path, "is_adult", test=CRASHING)
    assert done.stdout.split()[-2:] == ["3", "0"], done.stdout
