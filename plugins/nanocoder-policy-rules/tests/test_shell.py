import pytest
from nanocoder import Decision


# SHELL-166, 168, 170, 172, 174, 175, 176, 177
@pytest.mark.contract("NT-45")
@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la",
        "ls -la src tests",
        "pwd",
        "cat README.md | head -20",
        "cat README.md | wc -l",
        "sed -n '10,20p' README.md",
        "sed -n 1,5p README.md",
        "wc -l README.md",
        'echo "a#b; not a chain"',
        "grep -n 'a|b;c&d' README.md",
        "grep -n -A3 -e one -e two src/a.py",
        'rg -n "def main" src',
        "rg --files src | sort | head -50",
        "head -c 100 README.md",
        "tail -n 5 a.log 2>/dev/null",
        "find . -name '*.py' -type f",
        "find src -maxdepth 2 -not -path './.git/*' | sort",
        "cd src && ls -la && cat a.py",
        "cd src && grep -n x a.py | head -5",
        "cut -d, -f1 data.csv | sort | uniq -c | sort -rn",
        "stat -c %s README.md",
        "which python3; uname -a; id -u",
        "date +%Y-%m-%d",
        "basename /a/b/c.txt .txt",
        "ls nothing >/dev/null 2>&1",
        "echo abc | tr a-z A-Z",
        "du -sh . && df -h",
    ],
)
def test_everyday_reading_needs_nobody(command, judge):
    assert judge("bash", {"command": command}).decision is Decision.ALLOW
    assert judge("bash", {"command": command}, mode="edits").decision is Decision.ALLOW


def test_a_link_that_leads_out_is_not_read(tmp_path, judge):
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "here").symlink_to("README.md")
    assert judge("bash", {"command": "cat link"}).decision is Decision.ASK
    assert judge("bash", {"command": "cat here"}).decision is Decision.ALLOW


def test_paths_are_those_of_the_directory_the_command_runs_in(tmp_path, judge):
    assert judge("bash", {"command": "cat ../x", "workdir": "a"}).decision is Decision.ALLOW
    assert judge("bash", {"command": "cat ../x", "workdir": "."}).decision is Decision.ASK
    assert judge("bash", {"command": "cat x", "workdir": "/etc"}).decision is Decision.ASK
    assert judge("bash", {"command": f"cat {tmp_path}/x"}).decision is Decision.ALLOW


def test_a_command_that_is_no_text_asks(judge):
    assert judge("bash", {"command": 5}).decision is Decision.ASK
    assert judge("bash", {"command": ""}).decision is Decision.ASK


@pytest.mark.parametrize(
    "command", ["cat ~/x", "cat a=~/x", "cat a:~/x", "cat ~", "cat -~", "cat .~"]
)
def test_a_tilde_that_a_shell_expands_is_not_recognised(command, judge):
    assert judge("bash", {"command": command}).decision is Decision.ASK
    assert judge("bash", {"command": "cat a~1 b~"}).decision is Decision.ALLOW
