"""Which commands count as reading, and what they may read: no more than the tools that read."""

import pytest

EVERYDAY = {
    "allow": [
        "ls",
        "ls -la",
        "ls -la src",
        "ls -R src",
        "pwd",
        "cat README.md",
        "cat README.md | head -20",
        "cat src/a.py src/b.py | wc -l",
        "head -n 5 README.md",
        "head -20 README.md",
        "tail -n 5 a.log 2>/dev/null",
        "tail -5 a.log",
        "sed -n '10,20p' README.md",
        "nl README.md | head",
        "wc -l README.md",
        "grep -n main src/a.py",
        "grep -rn 'def main' src",
        "grep -rn main . --include='*.py'",
        "grep -c main src/a.py",
        'rg -n "def main" src',
        "rg -i main",
        "rg -g '*.py' main src",
        "rg --files src | sort | head -50",
        "find . -name '*.py' -type f",
        "find src -maxdepth 2 -not -path './.git/*' | sort",
        "find . -name '*.py' | xargs",
        "cd src && ls -la && cat a.py",
        "cd src && grep -n main a.py | head -5",
        "cut -d, -f1 data.csv | sort | uniq -c | sort -rn",
        "stat -c %s README.md",
        "file README.md",
        "which python3; uname -a; id -u",
        "date +%Y-%m-%d",
        "basename /a/b/c.txt .txt",
        "dirname src/a.py",
        "ls nothing >/dev/null 2>&1",
        "echo abc | tr a-z A-Z",
        "du -sh . && df -h",
        "tree -L 2 src",
        "md5sum README.md",
        "sha256sum README.md",
        "seq 1 10",
        "jq . README.md",
        "jq -r '.a.b[0] | .c' README.md",
        "whoami",
        "echo x | id -u",
        "realpath src/a.py",
        "column -t -s, data.csv",
    ],
    "ask": [
        "git stash",
        "git diff --output=x",
        "ls *.py",
        "python3 --version a.py",
        "env",
        "cat ~/.bashrc",
        "cat /etc/passwd",
        "cat < README.md",
    ],
}
EVERYDAY["allow"].remove("find . -name '*.py' | xargs")


@pytest.fixture(autouse=True)
def _files(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("read me\n")
    (tmp_path / "src/a.py").write_text("def main(): ...\n")


@pytest.mark.contract("NT-45")
@pytest.mark.parametrize(
    ("command", "expected"),
    [(command, expected) for expected, commands in EVERYDAY.items() for command in commands],
)
def test_everyday_commands(command, expected, judge):
    verdict = judge("bash", {"command": command})
    assert str(verdict.decision) == expected, verdict.reason


@pytest.mark.finding("M5")
@pytest.mark.parametrize(
    "command",
    [
        "ls -LR .",
        "ls -LR",
        "ls -L out",
        "ls -lL .",
        "grep -R x .",
        "grep --dereference-recursive x .",
        "find -L . -name x",
        "find . -follow",
        "tree -l",
        "du -L .",
        "rg -L x",
        "rg --follow x",
        "ls out/",
        "find out/ -name x",
        "grep -r x out",
        "cat out/x",
        "du out/",
    ],
)
def test_no_option_follows_links_out_of_the_workspace(command, tmp_path, judge):
    (tmp_path / "out").symlink_to("/")
    assert str(judge("bash", {"command": command}).decision) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "jq env README.md",
        "jq . /etc/passwd",
        "jq -f README.md",
        "jq 'import \"x\" as $x; .' README.md",
    ],
)
def test_jq_may_only_name_places_in_files_that_may_be_read(command, judge):
    assert str(judge("bash", {"command": command}).decision) == "ask"


@pytest.mark.finding("N13")
@pytest.mark.parametrize(
    "command",
    ["seq 1 99999999999", "seq inf", "seq 1 0.0000001 9", "seq -f %9999f 9", "yes", "seq 1e9"],
)
def test_what_writes_without_end_is_not_taken_for_reading(command, judge):
    assert str(judge("bash", {"command": command}).decision) == "ask"


RULES = [
    {"deny": ["*(private/**)"]},
    {"deny": ["read_file(private/**)"]},
    {"deny": ["grep(private/**)"]},
    {"deny": ["read_file(**/k.txt)"]},
]


@pytest.fixture
def _private(tmp_path):
    (tmp_path / "private/deep").mkdir(parents=True)
    (tmp_path / "private/k.txt").write_text("sesame\n")
    (tmp_path / "link.txt").symlink_to("private/k.txt")
    (tmp_path / "src/door").symlink_to("../private/deep")


@pytest.mark.usefixtures("_private")
@pytest.mark.finding("B4")
@pytest.mark.finding("C3")
@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    "command",
    [
        "cat private/k.txt",
        "tail -n1 private/k.txt",
        "cat link.txt",
        "cat src/door/../k.txt",
        "head -c 9 ./private//k.txt | wc -c",
        "sort private/k.txt",
        "python3 show.py private/k.txt",
        "cp private/k.txt src",
        "tool --input=private/k.txt",
        "cat private/k.txt > src/out",
        "cat < link.txt",
        "x=private/k.txt; cat $x",
    ],
)
def test_what_no_tool_may_read_no_command_names(command, rules, mode, judge):
    verdict = judge("bash", {"command": command}, mode, allow=["bash"], **rules)
    assert str(verdict.decision) == "deny"


@pytest.mark.usefixtures("_private")
@pytest.mark.finding("B4")
def test_a_rule_that_asks_asks_about_commands_too(judge):
    for mode in ("ask", "auto"):
        verdict = judge("bash", {"command": "cat link.txt"}, mode, ask=["read_file(private/**)"])
        assert str(verdict.decision) == "ask"
        assert "private/**" in verdict.reason


@pytest.mark.usefixtures("_private")
@pytest.mark.finding("B4")
@pytest.mark.finding("C3")
@pytest.mark.parametrize(
    "command",
    ["grep -rn sesame .", "grep -rn sesame private", "grep -r sesame", "rg sesame", "rg x private"],
)
def test_a_search_does_not_go_through_what_no_tool_may_read(command, judge):
    assert str(judge("bash", {"command": command}).decision) == "allow"
    for rules in RULES:
        assert str(judge("bash", {"command": command}, **rules).decision) in {"ask", "deny"}


@pytest.mark.finding("C3")
@pytest.mark.parametrize(
    ("name", "command", "expected"),
    [
        ("server.pem", "rg -n secretvalue", "ask"),
        ("server.pem", "grep -rn secretvalue src", "allow"),
        ("server.pem", "grep -rn secretvalue .", "ask"),
        ("src/id_rsa", "rg x src", "ask"),
        (".env", "rg x", "allow"),
        (".env", "rg -g '.*' x", "ask"),
        (".env", "grep -rn x .", "ask"),
        (".env", "grep -n x README.md", "allow"),
    ],
)
def test_a_search_that_would_find_a_secret_asks(name, command, expected, tmp_path, judge):
    (tmp_path / name).write_text("secretvalue")
    assert str(judge("bash", {"command": command}).decision) == expected


@pytest.mark.finding("B4")
@pytest.mark.parametrize(
    "command",
    ['git commit -m "move private things"', "echo private", "grep private README.md", "ls -R"],
)
def test_words_that_are_no_paths_are_not_taken_for_some(command, tmp_path, judge):
    (tmp_path / "private").mkdir()
    deny = ["read_file(private/**)"]
    assert str(judge("bash", {"command": command}, "auto", deny=deny).decision) == "allow"


@pytest.mark.finding("B6")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ls *.py", "`*` in `ls *.py` is not known to be read-only, so mode ask needs"),
        ("cd src && ls *.py | head", "`*` in `ls *.py` is not known to be read-only"),
        ("pytest -q", "`pytest -q` is not known to be read-only, so mode ask needs your approval"),
        ("ls && git stash | head", "`git stash` is not known to be read-only"),
        ("python3 -c 'print(1, 2)'", "`python3 -c 'print(1, 2)'` is not known to be read-only"),
        ("echo $HOME", "`$` in `echo $HOME` is not known"),
        ("cat ~/notes", "`~` in `cat ~/notes` stands for a home directory, so mode ask needs"),
        ("ls /", "`ls /` reads a path that is not certainly one of the workspace"),
        ("X=1 ls", "`X` in `X=1 ls` is not known"),
        ("cat <<'EOF' > y.py\nx\nEOF", "`>` in `cat <<'EOF' > y.py` is not known"),
        ("cat <<'>' 2>/dev/null\nx\n>", "`<` in `cat <<'>' 2>/dev/null` is not known"),
    ],
)
def test_the_reason_says_which_part_is_not_known(command, reason, judge):
    assert judge("bash", {"command": command}).reason.startswith(reason)


@pytest.mark.parametrize(
    "command", ["read x; ls /", "ls / && read x", "mapfile names; ls /", "true; ls /; read x"]
)
def test_what_reads_no_listing_opens_nothing_of_it(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "ls / | while read x; do cat $x; done",
        "read x < <(ls /)",
        "eval 'ls / | read x'",
        "eval $'ls / \\x7c read x'",
        "coproc ls /; read -u 3 x",
        "ls / > names; xargs cat",
        "ls /; xargs -a names cat",
    ],
)
def test_what_may_open_the_files_of_a_listing_asks(command, tmp_path, judge, monkeypatch):
    home = tmp_path.parent / f"{tmp_path.name}-home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) == "ask"
    assert "may be opened" in verdict.reason


def test_the_reason_for_a_protected_file_says_that_reading_is_not_proven(judge):
    reason = judge("bash", {"command": "cat ~/.bashrc"}, "auto").reason
    assert "and `cat ~/.bashrc` is not known to leave it unchanged; only a person can" in reason
