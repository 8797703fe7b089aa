"""The short list of commands that run unasked without a sandbox: plain words on files inside."""

import pytest

READING = [
    "ls",
    "ls -la src",
    "pwd",
    "echo hello 'a b'",
    "cat a.py | head -20",
    "cat a.py src/b.py | wc -l",
    "tail -n 5 a.py 2>/dev/null",
    "grep -n main a.py",
    "grep -e main -e test a.py src/b.py",
    "sort a.py | uniq -c | sort -rn | head",
    "cut -d, -f1 a.py",
    "stat -c %s a.py",
    "date +%F",
    "which cat",
    "ls missing || true",
    "cat a.py # the first",
    "ls\ncat a.py",
    "ls | head 2>&1",
    "ls 2> /dev/null -la src",
    "grep -A3 -20 main a.py",
    "head -20 a.py -n5",
    "tr --delete x",
    "cut -d : -f 1 a.py",
]
OTHERS = [
    # not on the list, or not by these words
    "yes",
    "find . -name x",
    "git status",
    "sed -n 1p a.py",
    "./ls",
    "/bin/ls",
    "cd src && ls",
    "tail -f a.py",
    "ls -R",
    "ls -LR --full-time",
    "grep -r main .",
    "sort -o x a.py",
    "sort --reverse a.py",
    "grep -nf/etc/passwd a.py",
    "grep -e -f/etc/passwd a.py",
    "date 01010101",
    "sort --compress-program=x a.py",
    "uniq a.py b.py",
    "date -s 2020-01-01",
    "file -m x a.py",
    "wc --files0-from=a.py",
    "grep -f /etc/passwd a.py",
    "test -v 'a[$(touch x)]'",
    "ls -- --color=/../..",
    "ls --color=auto -- ..",
    "cat --color=x a.py",
    "grep --color -e main /etc/passwd",
    "sort -rk2 /etc/passwd",
    "ls *.py",
    "[ -f a.py ]",
    # words that bash reads otherwise than the parser
    "echo\n\\\ntouch ran",
    "echo x\n\\touch ran",
    "echo x\\\t#; touch ran",
    # more than plain words
    "cat $x",
    "cat ~/x",
    "cat `ls`",
    "cat <(ls)",
    "cat {a,b}.py",
    "ls > x",
    "echo evil > a.py /dev/null",
    "echo evil > /dev/null 2> a.py /dev/null",
    "cat < a.py",
    "cat <<E\nx\nE",
    "X=1 ls",
    "ls &",
    "(ls)",
    "if true; then ls; fi",
    "for x in 1; do ls; done",
    "f() { ls; }; f",
    "[[ -f a.py ]]",
    "l\\\ns",
    # not files of the workspace that may be read
    "cat /etc/passwd",
    "cat ../x",
    "cat link",
    "cat .env",
    "cat src/../.env",
    "cat opt*",
    "cat **",
]


@pytest.fixture(autouse=True)
def _files(tmp_path):
    (tmp_path / "src").mkdir()
    for name in ("a.py", "src/b.py", ".env", "options/-x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "opt1").symlink_to("/etc")


@pytest.mark.parametrize("mode", ["plan", "ask", "edits"])
def test_only_the_short_list_on_plain_words_reads_unasked(mode, judge):
    for command in READING:
        verdict = judge("bash", {"command": command}, mode)
        assert str(verdict.decision) == "allow", (command, verdict.reason)
    for command in OTHERS:
        assert str(judge("bash", {"command": command}, mode).decision) in {"ask", "deny"}, command


def test_a_program_elsewhere_is_not_the_system_s(tmp_path, tmp_path_factory, monkeypatch, judge):
    for number, folder in enumerate((tmp_path / "bin", tmp_path_factory.mktemp("shims"))):
        folder.mkdir(exist_ok=True)
        (folder / "cat").write_text("#!/bin/sh\n. ./a.py\n")
        (folder / "cat").chmod(0o755)
        (folder / "wc").symlink_to(folder / "cat")
        (folder / "ls").symlink_to("/usr/bin/env")
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        for program in ("cat", "wc", "ls"):
            command = {"command": f"{program} a.py" + " " * number}
            assert judge("bash", command).decision == "ask", program


def test_a_rule_for_a_path_holds_for_commands_that_read_it(judge):
    for kind in ("deny", "ask"):
        rules = {kind: ["read_file(src/**)"]}
        for command in ("cat src/b.py", "wc < src/b.py", "cp src/b.py x", "cat sr*/b.py"):
            verdict = judge("bash", {"command": command}, "auto", **rules)
            assert str(verdict.decision) == kind, command
        assert judge("bash", {"command": "cat a.py"}, "auto", **rules).decision == "allow"
