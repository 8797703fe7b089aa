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


SEARCHES = [
    ("bash(rg *)", "rg secretvalue"),
    ("bash(rg *)", "rg secretvalue ."),
    ("bash(rg *)", "rg -n x src/.."),
    ("bash(rg *)", "rg --hidden secretvalue"),
    ("bash(rg *)", "rg -uuu x"),
    ("bash(rg *)", "rg -. x"),
    ("bash(rg *)", "rg --no-ignore -tpy x"),
    ("bash(rg *)", "cd src && rg -uu x .."),
    ("bash(rg -n *)", "rg -n x | head"),
    ("bash(rg *)", "cat src/a.py | rg x ."),
    ("bash(rg *)", "cat src/a.py | rg -f - -uu"),
    ("bash(rg *)", "cat src/a.py | rg -uu --files"),
    ("bash(rg *)", "rg -L x links"),
    ("bash(rg *)", "rg x links --follow"),
    ("bash(rg *)", "rg -e --files -e x ."),
    ("bash(rg *)", "rg -v -- --files ."),
    ("bash(grep *)", "grep -r x ."),
    ("bash(grep *)", "grep -R x"),
    ("bash(grep *)", "grep --rec x ."),
    ("bash(grep *)", "grep -d recurse x ."),
    ("bash(grep *)", "grep --dir=recurse x ."),
    ("bash(grep *)", "grep --deref x links"),
    ("bash(grep *)", "grep -R x links"),
    ("bash(grep -r *)", "grep -rn x src ./"),
    ("bash(grep -r *)", "grep -r -y x ."),
    ("bash(egrep *)", "egrep -r x ."),
    ("bash(grep -rn x .)", "grep -rn x ."),
]
WITHIN = [
    ("bash(rg *)", "rg -n foo src"),
    ("bash(rg *)", "cd src && rg -c foo"),
    ("bash(rg *)", "rg --files src"),
    ("bash(rg *)", "rg -uu --hidden foo src"),
    ("bash(rg *)", "rg --no-ignore -g a.py foo src"),
    ("bash(grep *)", "grep -n foo src/a.py"),
    ("bash(grep *)", "grep -y foo src/a.py"),
    ("bash(grep *)", "cat src/a.py | grep -y foo"),
    ("bash(rg *)", "cat src/a.py | rg foo | head"),
    ("bash(rg *)", "cat src/a.py | rg -uu foo"),
    ("bash(grep *)", "grep -rn foo src"),
    ("bash(grep *)", "grep -R foo links src/a.py | wc -l"),
]


def _searched(root):
    for folder in ("src", "private", "links"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "a.py").write_text("foo\n")
    (root / ".env").write_text("KEY=secretvalue\n")
    (root / "server.pem").write_text("secretvalue\n")


@pytest.mark.finding("C3")
@pytest.mark.parametrize(("rule", "command"), SEARCHES)
@pytest.mark.parametrize("deny", [[], ["read_file(private/**)"]])
def test_an_allowed_search_asks_where_it_would_find_what_nobody_may_read(
    rule, command, deny, tmp_path, judge
):
    _searched(tmp_path)
    (tmp_path / "links/out").symlink_to("/")
    assert str(judge("bash", {"command": command}, allow=[rule], deny=deny).decision) == "ask"


@pytest.mark.finding("C3")
@pytest.mark.parametrize(("rule", "command"), WITHIN)
def test_an_allowed_search_runs_where_all_may_be_read(rule, command, tmp_path, judge):
    _searched(tmp_path)
    verdict = judge("bash", {"command": command}, allow=[rule], deny=["read_file(private/**)"])
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.finding("C3")
@pytest.mark.parametrize(
    "command",
    [
        "rg -e --files -e x .",
        "rg -v -- --files .",
        "rg --glob a.py x",
        "rg --type-not py x",
        "rg --color never x",
        "grep -r --exclude y x",
    ],
)
def test_no_word_is_taken_for_the_folder_of_a_search_that_is_none(command, tmp_path, judge):
    assert str(judge("bash", {"command": command}).decision) == "allow"
    _searched(tmp_path)
    assert str(judge("bash", {"command": command}).decision) == "ask"
