"""What an allow rule for a command lets it reach: the workspace, whatever form a path is in."""

import pytest

LEAVING = [
    ("bash(dd *)", "dd if=a of=/elsewhere/x"),
    ("bash(dd *)", "dd if=a of=../x"),
    ("bash(dd *)", "dd if=../x of=a"),
    ("bash(cp *)", "cp -t/elsewhere a"),
    ("bash(cp *)", "cp -rt/elsewhere a"),
    ("bash(cp *)", "cp --target-directory=/elsewhere a"),
    ("bash(cp *)", "cp a d/x"),
    ("bash(cp *)", "cp d/s b"),
    ("bash(cp *)", "cp -td a"),
    ("bash(cp *)", "cp a in/../../x"),
    ("bash(cp *)", "cp a src/up/../../x"),
    ("bash(cp *)", "cd src && cp a up/x"),
    ("bash(make *)", "make -C/elsewhere"),
    ("bash(make *)", "make -C../evil"),
    ("bash(make *)", "make DESTDIR=/ install"),
    ("bash(make *)", "make -f ../Makefile"),
    ("bash(make *)", "make PREFIX=d install"),
    ("bash(gcc *)", "gcc -o../x a.c"),
    ("bash(gcc *)", "gcc -Wl,-Map=/elsewhere/x a.c"),
    ("bash(gcc *)", "gcc @../arguments a.c"),
    ("bash(pytest *)", "pytest -o cache_dir=/elsewhere"),
    ("bash(pytest *)", "pytest -ocache_dir=../x"),
    ("bash(pytest *)", "pytest --basetemp=d/tmp"),
    ("bash(tar *)", "tar -xf a.tar -C../evil"),
    ("bash(tool *)", "tool --map=a:/elsewhere"),
    ("bash(tool *)", "tool --map=d,a"),
    ("bash(tool *)", "tool file:///etc/passwd"),
    ("bash(cat *)", "cat link"),
    ("bash(cat *)", "cat /etc/passwd"),
]
STAYING = [
    ("bash(dd *)", "dd if=a of=in/x"),
    ("bash(cp *)", "cp -rt src a"),
    ("bash(make *)", "make -C src DESTDIR=build install"),
    ("bash(gcc *)", "gcc -O2 -Wall -Iinclude -obuild/x a.c"),
    ("bash(pytest *)", "pytest -q tests/test_a.py::test_b -k 'a or b' -o cache_dir=.cache"),
    ("bash(pytest *)", "cd src && pytest ../tests"),
    ("bash(npm install *)", "npm install @scope/package@1.2.3"),
    ("bash(pip install *)", "pip install git+https://example.org/x.git"),
    ("bash(git clone *)", "git clone https://example.org/x.git"),
    ("bash(git clone *)", "git clone git@example.org:x/y.git"),
    ("bash(cp * /elsewhere/x)", "cp a /elsewhere/x"),
    ("bash(make -C ../lib *)", "make -C ../lib test"),
    ("bash(cat *)", "cat a b"),
]


@pytest.fixture(autouse=True)
def _links(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "d").symlink_to(tmp_path.parent)
    (tmp_path / "src/up").symlink_to(tmp_path.parent)
    (tmp_path / "link").symlink_to("/etc/hostname")


@pytest.mark.finding("H1")
@pytest.mark.finding("N1")
@pytest.mark.parametrize(("rule", "command"), LEAVING)
def test_an_allowed_command_asks_before_it_leaves_the_workspace(rule, command, judge):
    assert str(judge("bash", {"command": command}, allow=[rule]).decision) == "ask"


@pytest.mark.finding("H1")
@pytest.mark.parametrize(("rule", "command"), STAYING)
def test_an_allowed_command_works_inside(rule, command, judge):
    verdict = judge("bash", {"command": command}, allow=[rule])
    assert str(verdict.decision) == "allow", verdict.reason
